#include "tests/core/support/image_graphs.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rematlas {

namespace {

constexpr double kImageFlopsPerNanosecond = 20'000;
constexpr double kImageBytesPerNanosecond = 1'000;
constexpr std::int64_t kImageLaunch = 2'000;  // ns
constexpr std::int64_t kSingle = 4;           // bytes of a number
constexpr std::int64_t kConvolutionWorkspace = 4 << 20;

/// A square image with channels.
struct Feature {
    TensorId tensor;
    std::int64_t channels = 0, side = 0;
};

class ImageBuilder {
  public:
    explicit ImageBuilder(std::int64_t batch) : batch_(batch) {}

    Graph densenet(const DensenetShape& shape) {
        graph_.name = "densenet" + std::to_string(depth(shape));
        Feature x = image(3, shape.image);
        x.tensor = tensor("image", bytes_of(x), TensorKind::input);
        x = pool(unit(convolution(x, 2 * shape.growth, 7, 2), false));
        for (std::size_t block = 0; block < shape.layers.size(); ++block) {
            std::vector<Feature> features{x};
            for (int layer = 0; layer < shape.layers[block]; ++layer) {
                module_ = "block" + std::to_string(block) + ".layer" + std::to_string(layer);
                features.push_back(dense_layer(features, shape.growth));
            }
            module_ = "transition" + std::to_string(block);
            x = concatenation(features);
            const bool last = block + 1 == shape.layers.size();
            x = last ? unit(x, true) : pool(convolution(unit(x, true), x.channels / 2, 1, 1));
        }
        return finished(x);
    }

    Graph unet(const UnetShape& shape) {
        graph_.name = "unet" + std::to_string(shape.depth);
        Feature x = image(3, shape.image);
        x.tensor = tensor("image", bytes_of(x), TensorKind::input);
        std::vector<Feature> skips;
        for (int level = 0; level <= shape.depth; ++level) {
            module_ = "down" + std::to_string(level);
            const std::int64_t channels = shape.channels << std::min(level, 4);
            if (level > 0) x = pool(x);
            for (int i = 0; i < 2; ++i) x = unit(convolution(x, channels, 3, 1), true);
            skips.push_back(x);
        }
        for (int level = shape.depth; level-- > 0;) {
            module_ = "up" + std::to_string(level);
            const Feature skip = skips[static_cast<std::size_t>(level)];
            x = concatenation({skip, convolution(upsampled(x), skip.channels, 1, 1)});
            for (int i = 0; i < 2; ++i) x = unit(convolution(x, skip.channels, 3, 1), true);
        }
        return finished(convolution(x, 2, 1, 1));
    }

  private:
    /// A forward op with the facts that its backward needs.
    struct Recorded {
        std::string name, module{};
        std::vector<Feature> data{};    ///< inputs that get a gradient
        std::vector<TensorId> saved{};  ///< tensors that the backward reads besides the gradient of the
                                        ///< output
        Feature output{};
        std::int64_t weights = 0;  ///< number of weights; their gradient is a result
        double flops = 0;
        bool in_place = false;
        bool gradients_are_views = false;  ///< the gradients are views of the output's gradient, and no op
                                           ///< makes them
    };

    static int depth(const DensenetShape& shape) {
        int convolutions = 1 + static_cast<int>(shape.layers.size());
        for (const int layers : shape.layers) convolutions += 2 * layers;
        return convolutions;
    }
    Feature image(std::int64_t channels, std::int64_t side) const { return {TensorId(), channels, side}; }
    std::int64_t bytes_of(const Feature& x) const { return batch_ * x.channels * x.side * x.side * kSingle; }
    TensorId tensor(const std::string& name, std::int64_t bytes, TensorKind kind) {
        return graph_.tensors.push_back({.name = name, .bytes = Bytes(bytes), .kind = kind});
    }

    OpId op(const std::string& name, Phase phase, const std::vector<TensorId>& inputs,
            const std::vector<TensorId>& outputs, double flops) {
        double bytes = 0;
        for (const TensorId t : inputs) bytes += static_cast<double>(graph_.tensors[t].bytes.value);
        for (const TensorId t : outputs) bytes += static_cast<double>(graph_.tensors[t].bytes.value);
        Op made;
        made.name = name;
        made.time =
            Nanoseconds(kImageLaunch + static_cast<std::int64_t>(std::max(flops / kImageFlopsPerNanosecond,
                                                                          bytes / kImageBytesPerNanosecond)));
        made.workspace = Bytes(flops > 0 ? kConvolutionWorkspace : 0);
        made.inputs = inputs;
        std::sort(made.inputs.begin(), made.inputs.end());
        made.outputs = outputs;
        made.phase = phase;
        made.module = module_;
        return graph_.ops.push_back(std::move(made));
    }

    Feature forward(Recorded made, Feature output, std::vector<TensorId> also_made = {}) {
        std::vector<TensorId> inputs, outputs;
        for (const Feature& x : made.data) inputs.push_back(x.tensor);
        if (made.weights > 0) {
            inputs.push_back(
                tensor(module_ + "." + made.name + ".weight", made.weights * kSingle, TensorKind::parameter));
            if (made.flops > 0) made.saved.push_back(inputs.back());
        }
        output.tensor = tensor(module_ + "." + made.name, bytes_of(output), TensorKind::activation);
        outputs.push_back(output.tensor);
        outputs.insert(outputs.end(), also_made.begin(), also_made.end());
        made.saved.insert(made.saved.end(), also_made.begin(), also_made.end());
        const OpId id = op(made.name, Phase::forward, inputs, outputs, made.flops);
        if (made.in_place) graph_.ops[id].inplace = {{.out = output.tensor, .in = made.data[0].tensor}};
        made.module = module_;
        made.output = output;
        tape_.push_back(std::move(made));
        return output;
    }

    Feature convolution(Feature x, std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
        const Feature output = image(channels, x.side / stride);
        const std::int64_t weights = channels * x.channels * kernel * kernel;
        return forward({.name = "conv",
                        .data = {x},
                        .saved = {x.tensor},
                        .weights = weights,
                        .flops = 2.0 * double(batch_ * weights * output.side * output.side)},
                       output);
    }
    Feature unit(Feature x, bool may_be_in_place) {
        const TensorId statistics =
            tensor(module_ + ".statistics", 2 * x.channels * kSingle, TensorKind::activation);
        const Feature normed = forward(
            {.name = "norm", .data = {x}, .saved = {x.tensor}, .weights = 2 * x.channels}, x, {statistics});
        const Feature made = forward({.name = "relu", .data = {normed}, .in_place = may_be_in_place}, normed);
        tape_.back().saved = {made.tensor};
        return made;
    }
    Feature pool(Feature x) { return forward({.name = "pool", .data = {x}}, image(x.channels, x.side / 2)); }
    Feature upsampled(Feature x) {
        return forward({.name = "upsample", .data = {x}}, image(x.channels, 2 * x.side));
    }
    Feature dense_layer(const std::vector<Feature>& features, std::int64_t growth) {
        const Feature narrow = convolution(unit(concatenation(features), true), 4 * growth, 1, 1);
        return convolution(unit(narrow, true), growth, 3, 1);
    }
    Feature concatenation(const std::vector<Feature>& features) {
        Feature all = image(0, features[0].side);
        for (const Feature& x : features) all.channels += x.channels;
        return forward({.name = "cat", .data = features, .gradients_are_views = true}, all);
    }

    Graph finished(const Feature& x) {
        loss(x);
        while (!tape_.empty()) backward();
        return std::move(graph_);
    }

    void loss(const Feature& x) {
        module_ = "loss";
        gradients_.assign(graph_.tensors.size(), TensorId());
        const TensorId made = tensor("gradient.logits", bytes_of(x), TensorKind::gradient);
        op("loss", Phase::loss, {x.tensor}, {made}, 0);
        gradient_of(x.tensor) = made;
    }

    TensorId& gradient_of(TensorId t) { return gradients_[static_cast<std::size_t>(t.value)]; }

    void backward() {
        Recorded forward = std::move(tape_.back());
        tape_.pop_back();
        module_ = forward.module;
        if (forward.gradients_are_views) {
            const TensorId whole = gradient_of(forward.output.tensor);
            for (const Feature& x : forward.data) accumulate(x, whole);
            return;
        }
        std::vector<TensorId> inputs{gradient_of(forward.output.tensor)}, outputs;
        inputs.insert(inputs.end(), forward.saved.begin(), forward.saved.end());
        std::erase_if(forward.data,
                      [&](const Feature& x) { return graph_.tensors[x.tensor].kind == TensorKind::input; });
        for (const Feature& x : forward.data)
            outputs.push_back(
                tensor(module_ + "." + forward.name + ".dx", bytes_of(x), TensorKind::gradient));
        if (forward.weights > 0) {
            outputs.push_back(tensor(module_ + "." + forward.name + ".dw", forward.weights * kSingle,
                                     TensorKind::gradient));
            graph_.results.push_back(outputs.back());
        }
        op(forward.name + "_backward", Phase::backward, inputs, outputs, 2 * forward.flops);
        for (std::size_t i = 0; i < forward.data.size(); ++i) accumulate(forward.data[i], outputs[i]);
    }

    // Adds a gradient to the sum for x. The sum is made in place unless the previous sum is a view of a
    // larger tensor.
    void accumulate(const Feature& x, TensorId gradient) {
        const TensorId sum = gradient_of(x.tensor);
        if (sum.valid()) {
            const TensorId made = tensor(module_ + ".sum", bytes_of(x), TensorKind::gradient);
            const OpId id = op("add", Phase::backward, {sum, gradient}, {made}, 0);
            if (graph_.tensors[sum].bytes == graph_.tensors[made].bytes)
                graph_.ops[id].inplace = {{.out = made, .in = sum}};
            gradient = made;
        }
        gradient_of(x.tensor) = gradient;
    }

    const std::int64_t batch_;
    Graph graph_;
    std::string module_ = "stem";
    std::vector<Recorded> tape_;
    std::vector<TensorId> gradients_;  ///< gradients by forward tensor
};

}  // namespace

Graph densenet_graph(const DensenetShape& shape) {
    return ImageBuilder(shape.batch).densenet(shape);
}

Graph unet_graph(const UnetShape& shape) {
    return ImageBuilder(shape.batch).unet(shape);
}

}  // namespace rematlas
