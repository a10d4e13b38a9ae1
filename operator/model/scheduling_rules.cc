#include "operator/model/scheduling_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/model/parse_number.h"

namespace sailor {
namespace {

using kube::Json;

bool keeps_pods_away(const Taint& taint) { return taint.effect == "NoSchedule" || taint.effect == "NoExecute"; }

// Returns whether a label meets a requirement of a node affinity; null: the node does not have the label.
bool meets_requirement(const std::string* label, const Json& requirement) {
  const std::string op = kube::text_at(requirement, {"operator"});
  const Json& values = kube::list_at(requirement, {"values"});
  const bool is_value = label != nullptr && std::ranges::find(values, Json(*label)) != values.end();
  if (op == "In") return is_value;
  if (op == "NotIn") return !is_value;
  if (op == "Exists") return label != nullptr;
  if (op == "DoesNotExist") return label == nullptr;
  if (label == nullptr || values.size() != 1 || !values[0].is_string()) return false;
  const auto number = parse_number<long>(*label);
  const auto bound = parse_number<long>(values[0].get_ref<const std::string&>());
  if (!number || !bound) return false;
  return op == "Gt" ? *number > *bound : op == "Lt" && *number < *bound;
}

bool matches_affinity_term(const NodeView& node, const Json& term) {
  const Json& expressions = kube::list_at(term, {"matchExpressions"});
  const Json& fields = kube::list_at(term, {"matchFields"});
  if (expressions.empty() && fields.empty()) return false;  // as in Kubernetes
  const bool labels_match = std::ranges::all_of(expressions, [&](const Json& requirement) {
    return meets_requirement(node.find_label(kube::text_at(requirement, {"key"})), requirement);
  });
  return labels_match && std::ranges::all_of(fields, [&](const Json& requirement) {
           const bool is_name = kube::text_at(requirement, {"key"}) == "metadata.name";
           return is_name && meets_requirement(&node.name, requirement);
         });
}

}  // namespace

SchedulingRules::SchedulingRules(const Json& pod_spec) {
  for (const Json& stated : kube::list_at(pod_spec, {"tolerations"})) {
    tolerations_.push_back({kube::text_at(stated, {"key"}), kube::text_at(stated, {"value"}),
                            kube::text_at(stated, {"effect"}), kube::text_at(stated, {"operator"}) == "Exists"});
  }
  if (const Json* selector = kube::find_at(pod_spec, {"nodeSelector"}); selector != nullptr && selector->is_object()) {
    for (const auto& [label, value] : selector->items()) {
      if (value.is_string()) selector_[label] = value.get<std::string>();
    }
  }
  const Json* required =
      kube::find_at(pod_spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  has_affinity_ = required != nullptr;
  if (!has_affinity_) return;
  for (const Json& term : kube::list_at(*required, {"nodeSelectorTerms"})) affinity_terms_.push_back(term);
}

bool SchedulingRules::tolerate(const Taint& taint) const {
  return std::ranges::any_of(tolerations_, [&](const Toleration& toleration) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    if (toleration.key.empty()) return toleration.exists;
    return toleration.key == taint.key && (toleration.exists || toleration.value == taint.value);
  });
}

bool SchedulingRules::affinity_matches(const NodeView& node) const {
  return !has_affinity_ ||
         std::ranges::any_of(affinity_terms_, [&](const Json& term) { return matches_affinity_term(node, term); });
}

const Taint* SchedulingRules::find_untolerated(const NodeView& node) const {
  const auto found =
      std::ranges::find_if(node.taints, [&](const Taint& taint) { return keeps_pods_away(taint) && !tolerate(taint); });
  return found == node.taints.end() ? nullptr : &*found;
}

bool SchedulingRules::accept(const NodeView& node) const {
  return node.has_labels(selector_) && find_untolerated(node) == nullptr && affinity_matches(node);
}

std::string SchedulingRules::obstacle(const NodeView& node) const {
  for (const auto& selected : selector_) {
    if (!node.has_labels({selected})) {
      return fmt::format("without the label {}={}, which the nodeSelector of the job's podTemplate asks for",
                         selected.first, selected.second);
    }
  }
  if (const Taint* taint = find_untolerated(node)) {
    return fmt::format("with the taint {}{}{}:{}, which the job's podTemplate does not tolerate", taint->key,
                       taint->value.empty() ? "" : "=", taint->value, taint->effect);
  }
  return affinity_matches(node) ? "" : "that the node affinity of the job's podTemplate excludes";
}

bool SchedulingRules::accept_future_node(const Labels& labels) const {
  return std::ranges::all_of(selector_, [&](const auto& selected) {
    const auto label = labels.find(selected.first);
    return label == labels.end() || label->second == selected.second;
  });
}

}  // namespace sailor
