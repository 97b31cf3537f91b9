// Nodes of autograd's graph. Up to torch 2.12 they are held by std::shared_ptr, in later versions by
// c10::intrusive_ptr.
#pragma once

#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>
#include <torch/version.h>

#include <memory>
#include <utility>

#define REMATLAS_NODES_ARE_INTRUSIVE (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13)

namespace rematlas {

using NodePointer = decltype(torch::autograd::Edge::function);

template <class T, class... Arguments>
NodePointer make_node(Arguments&&... arguments) {
#if REMATLAS_NODES_ARE_INTRUSIVE
    return c10::make_intrusive<T>(std::forward<Arguments>(arguments)...);
#else
    return {new T(std::forward<Arguments>(arguments)...), torch::autograd::deleteNode};
#endif
}

/// A node to which a WeakNode may refer. With intrusive pointers, the node stays in memory until the WeakNode
/// is destroyed. So the node releases everything that it holds as soon as no graph holds the node (`let_go`).
class WeaklyKnownNode : public torch::autograd::Node {
  public:
#if REMATLAS_NODES_ARE_INTRUSIVE
    void release_resources() override {
        Node::release_resources();
        let_go();
    }
#endif

  protected:
    /// Releases everything that the node holds. Called when no graph holds the node any more.
    virtual void let_go() = 0;
};

class WeakNode {
  public:
    WeakNode() = default;
    explicit WeakNode(const NodePointer& node) : node_(node) {}
    bool expired() const { return node_.expired(); }
    NodePointer lock() const { return node_.lock(); }

  private:
#if REMATLAS_NODES_ARE_INTRUSIVE
    c10::weak_intrusive_ptr<torch::autograd::Node> node_{NodePointer()};
#else
    std::weak_ptr<torch::autograd::Node> node_;
#endif
};

}  // namespace rematlas
