// GradientSums: the gradients of a worker's pieces, added up over all workers that compute with the same elements.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "trainer/model/stage_model.h"
#include "trainer/step/groups.h"

namespace sailor::trainer {

// A sum is started as soon as the worker's own part of it is complete, and goes on beside the backward pass through the
// layers before. Where the optimizer's state is sharded, each holder gets the sum of its share only.
class GradientSums {
 public:
  // All of them outlive the sums.
  GradientSums(const Roster& roster, int rank, Groups& groups, StageModel& model);

  // Told of each piece once its gradient is complete, and stays so until the next step: in start() where nobody else
  // computes with it, else in finish().
  using OnComplete = std::function<void(int piece, const at::Tensor& gradient)>;

  void begin(OnComplete on_complete);  // a step
  void start(int piece);               // in the same order on all workers that share parcels
  void finish();                       // all sums are there

  // Complete gradients, laid out as the rank's held part of the piece.
  [[nodiscard]] const at::Tensor& of(int piece) const { return pieces_.at(piece).held_gradient; }

  // Of the elements that this worker keeps: over all workers, every element of the model once.
  [[nodiscard]] double squared_norm_of_kept() const;

 private:
  struct Sum {  // of one parcel
    Group* group = nullptr;
    std::vector<Block> blocks;               // in the computed part
    std::vector<std::vector<Block>> shares;  // the same, by holder; empty where nothing is sharded
    std::vector<Block> own_share;            // in the held part
  };
  struct PieceSums {
    std::vector<Block> copies;  // tensors of which all workers of the tensor-parallel group have the same gradient
    std::vector<Sum> sums;
    std::vector<Block> kept;  // in the held part
    at::Tensor held_gradient;
  };
  struct Pending {
    int piece = 0;
    at::Tensor message;
    at::Tensor target;
    const std::vector<Block>* blocks = nullptr;  // of the target
    std::unique_ptr<Transfer> transfer;
  };

  void start_whole(int piece, const Sum& sum, const at::Tensor& gradient);
  void start_shared(int piece, const Sum& sum, const at::Tensor& gradient);

  StageModel& model_;
  int degree_;
  std::map<int, PieceSums> pieces_;
  OnComplete on_complete_;
  std::vector<Pending> pending_;  // those of a piece in a row
};

}  // namespace sailor::trainer
