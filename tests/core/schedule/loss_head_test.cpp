#include "core/schedule/loss_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/schedule/run_sequence.h"
#include "tests/core/support/headed_step.h"
#include "tests/core/support/small_graph.h"

namespace rematlas {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kHidden = HeadedStep::kHidden, kLogits = HeadedStep::kLogits,
                       kWeights = HeadedStep::kWeights;

std::optional<LossHead> found_in(const HeadedStep& step) {
    const Result<void> valid = validate(step.graph);
    EXPECT_TRUE(valid) << valid.error().message;
    return loss_head(step.graph);
}

std::optional<LossHeadMemory> at_peak_of(const HeadedStep& step) {
    return loss_head_at_peak(step.graph, flatten(step.graph));
}

TEST(LossHead, is_the_last_product_and_all_between_it_and_the_gradients_of_its_operands) {
    const HeadedStep step = language_model_step();
    const std::optional<LossHead> found = found_in(step);
    ASSERT_TRUE(found);
    EXPECT_EQ(step.graph.ops[found->product].name, "aten::mm");
    EXPECT_EQ(found->product, OpId(1));
    // The order of the tensors: logits, logs, loss, gradient of the loss, gradients of logs and of logits.
    std::vector<std::int64_t> bytes;
    for (const TensorId t : found->by_tokens) bytes.push_back(step.graph.tensors[t].bytes.value);
    EXPECT_THAT(bytes, ElementsAre(kLogits, kLogits, 4, 4, kLogits, kLogits));
    EXPECT_THAT(found->sums, ElementsAre(step.of_weights, step.of_hidden));
    EXPECT_TRUE(found->loss_is_inside);
}

TEST(LossHead, needs_exactly_what_its_tensors_have_at_the_peak) {
    const HeadedStep step = language_model_step();
    const std::optional<LossHeadMemory> found = at_peak_of(step);
    ASSERT_TRUE(found);
    // The backward of the softmax holds its output, the gradient of the output and the gradient of the input.
    EXPECT_EQ(found->needs, Bytes(3 * kLogits));
    EXPECT_EQ(found->peak, Bytes(80 + kWeights + kHidden + 3 * kLogits));
    EXPECT_EQ(found->peak, keep_all_peak(flatten(step.graph)));
    for (const ChunkedLossHead& one : found->in_chunks) {
        EXPECT_EQ(one.needs, Bytes(3 * kLogits / one.chunks));
        // The gradients of the weights and of the hidden states are held from the first chunk on.
        EXPECT_EQ(one.peak, Bytes(80 + 2 * kWeights + 2 * kHidden + 3 * kLogits / one.chunks));
    }
    EXPECT_THAT(told(*found), HasSubstr("the loss head needs 188 KiB of the peak; in 8 chunks of tokens it "
                                        "would need 23.4 KiB"));
    const nlohmann::json json = json_of(*found);
    EXPECT_EQ(json["bytes"], 3 * kLogits);
    EXPECT_EQ(json["in_chunks"][2]["chunks"], 8);
    EXPECT_EQ(json["in_chunks"][2]["bytes"], 3 * kLogits / 8);
}

TEST(LossHead, is_found_behind_casts_of_weights_and_logits_that_are_scaled) {
    HeadedStep step;
    const TensorId cast = step.forward("aten::_to_copy", {step.weights}, kWeights / 2);
    TensorId logits = step.forward("aten::mm", {step.hidden, cast}, kLogits / 2);
    logits = step.forward("aten::div", {logits}, kLogits / 2);
    logits = step.forward("aten::tanh", {logits}, kLogits / 2);
    logits = step.forward("aten::_to_copy", {logits}, kLogits);
    TensorId gradient = step.backward("aten::_to_copy", {step.loss_of(logits)}, kLogits / 2);
    gradient = step.backward("aten::tanh_backward", {gradient}, kLogits / 2);
    step.end(gradient, cast);
    const std::optional<LossHead> found = found_in(step);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->product, OpId(2));
    EXPECT_THAT(found->sums, ElementsAre(step.of_weights, step.of_hidden));
    EXPECT_TRUE(at_peak_of(step));
}

TEST(LossHead, says_that_nobody_knows_the_callers_loss) {
    HeadedStep step;
    const TensorId logits = step.forward("aten::addmm", {step.hidden, step.weights}, kLogits);
    const TensorId gradient = step.op("rematlas::output_gradients", Phase::loss, {logits}, kLogits);
    step.graph.ops[OpId(2)].workspace = Bytes(2 * kLogits);
    step.end(gradient, step.weights);
    const std::optional<LossHeadMemory> found = at_peak_of(step);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->head.loss_is_inside);
    EXPECT_EQ(found->needs, Bytes(4 * kLogits));  // two tensors of this size, and a workspace of twice the
                                                  // size
    EXPECT_EQ(found->in_chunks[1].needs, Bytes(kLogits));
    EXPECT_THAT(told(*found), HasSubstr("where the loss is one of each token"));
}

TEST(LossHead, is_none_where_the_last_product_has_no_weights) {
    HeadedStep step;  // the last product scores pairs, for example of images and texts
    const TensorId others = step.forward("aten::embedding", {step.tokens, step.weights}, kHidden);
    const TensorId logits = step.forward("aten::mm", {step.hidden, others}, kLogits);
    step.end(step.loss_of(logits), others);
    EXPECT_FALSE(found_in(step));
}

TEST(LossHead, is_none_where_an_op_may_treat_several_tokens_together) {
    for (const char* name : {"aten::sort", "aten::native_layer_norm", "aten::convolution"}) {
        HeadedStep step;
        TensorId logits = step.forward("aten::mm", {step.hidden, step.weights}, kLogits);
        logits = step.forward(name, {logits}, kLogits);
        step.end(step.loss_of(logits), step.weights);
        EXPECT_FALSE(found_in(step)) << name;
    }
}

TEST(LossHead, is_none_where_something_else_of_the_step_is_added_to_the_logits) {
    HeadedStep step;
    const TensorId other = step.forward("aten::embedding", {step.tokens, step.weights}, kLogits);
    TensorId logits = step.forward("aten::mm", {step.hidden, step.weights}, kLogits);
    logits = step.forward("aten::add", {logits, other}, kLogits);
    step.end(step.loss_of(logits), step.weights);
    EXPECT_FALSE(found_in(step));
}

TEST(LossHead, is_none_without_a_product_or_without_a_backward) {
    EXPECT_FALSE(loss_head(small_graph()));
    HeadedStep step;
    step.graph.results = {step.forward("aten::mm", {step.hidden, step.weights}, kLogits)};
    EXPECT_FALSE(found_in(step));
}

TEST(LossHead, is_not_worth_a_word_in_a_classifier_with_few_classes) {
    HeadedStep step;
    const TensorId large = step.forward("aten::relu", {step.hidden}, 200 * kLogits);
    step.hidden = step.forward("aten::mean", {large}, kHidden);
    const TensorId logits = step.forward("aten::mm", {step.hidden, step.weights}, kLogits);
    step.end(step.loss_of(logits), step.weights);
    step.graph.ops[OpId(static_cast<std::int64_t>(step.graph.ops.size()) - 1)].inputs.push_back(large);
    EXPECT_TRUE(found_in(step));
    EXPECT_FALSE(at_peak_of(step));  // chunks would save only 163,000 of 13 million bytes
}

TEST(LossHead, leaves_a_head_in_chunks_alone) {
    HeadedStep step;
    TensorId total;
    std::vector<TensorId> gradients;
    for (int chunk = 0; chunk < 8; ++chunk) {
        TensorId logits = step.forward("aten::mm", {step.hidden, step.weights}, kLogits / 8);
        logits = step.forward("aten::_log_softmax", {logits}, kLogits / 8);
        const TensorId loss = step.forward("aten::nll_loss_forward", {logits, step.tokens}, 4);
        total = total.valid() ? step.forward("aten::add", {total, loss}, 4) : loss;
    }
    const TensorId unit = step.op("rematlas::output_gradients", Phase::loss, {total}, 4);
    TensorId sum;
    for (int chunk = 0; chunk < 8; ++chunk) {
        TensorId logs = step.backward("aten::mm", {step.hidden, step.weights}, kLogits / 8);
        logs = step.backward("aten::_log_softmax", {logs}, kLogits / 8);
        TensorId gradient = step.backward("aten::nll_loss_backward", {unit, logs, step.tokens}, kLogits / 8);
        gradient = step.backward("aten::_log_softmax_backward_data", {gradient, logs}, kLogits / 8);
        sum = sum.valid() ? step.backward("aten::addmm", {sum, gradient, step.hidden}, kWeights)
                          : step.backward("aten::mm", {gradient, step.hidden}, kWeights);
    }
    step.graph.results = {sum};
    EXPECT_FALSE(at_peak_of(step));
}

}  // namespace
}  // namespace rematlas
