//! Whether a DaemonSet makes a pod on a Node with taints.

use crate::snapshot::{DaemonSet, HostNetwork, Node, Taint, Toleration};

/// What the DaemonSet controller lets each of its pods tolerate (Kubernetes
/// `pkg/controller/daemon/util/daemonset_util.go`): keys with their effect.
const ADDED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// What it lets those tolerate too that use the network of the node.
const ADDED_ON_HOST_NETWORK: (&str, &str) =
    ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// Returns the first taint of a Node that keeps off a new pod of a DaemonSet, if any does. A pod that runs there
/// already may stay: `NoSchedule` does not evict.
pub(super) fn untolerated<'n>(node: &'n Node, set: &DaemonSet) -> Option<&'n Taint> {
    node.taints
        .iter()
        .filter(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute"))
        .find(|taint| {
            !is_added(taint, set.host_network)
                && !set
                    .tolerations
                    .iter()
                    .any(|toleration| tolerates(toleration, taint))
        })
}

/// Returns a taint as `kubectl taint` takes it.
pub(super) fn in_words(taint: &Taint) -> String {
    let value = if taint.value.is_empty() {
        String::new()
    } else {
        format!("={}", taint.value)
    };
    format!("{}{value}:{}", taint.key, taint.effect)
}

fn is_added(taint: &Taint, network: HostNetwork) -> bool {
    let of = (taint.key.as_str(), taint.effect.as_str());
    ADDED.contains(&of)
        || match network {
            HostNetwork::Yes => of == ADDED_ON_HOST_NETWORK,
            HostNetwork::No => false,
        }
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let of_effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let of_key = toleration.key == taint.key;
    of_effect
        && match toleration.operator.as_str() {
            "Exists" => toleration.key.is_empty() || of_key,
            "" | "Equal" => of_key && toleration.value == taint.value,
            // An operator of a later Kubernetes: what it tolerates is not known, so nothing is refused for it.
            _ => of_key,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::IsNodeAgent;

    fn taint(text: &str) -> Taint {
        let (rest, effect) = text.split_once(':').unwrap();
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        Taint {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        }
    }

    fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
        Toleration {
            key: key.to_owned(),
            operator: operator.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        }
    }

    fn keeps_off(taints: &str, tolerations: Vec<Toleration>, network: HostNetwork) -> bool {
        let node = Node {
            name: "node-a".to_owned(),
            labels: std::collections::BTreeMap::new(),
            created: None,
            ready: None,
            cordoned: crate::snapshot::Cordoned::No,
            taints: taints.split_whitespace().map(taint).collect(),
            label_writes: std::collections::BTreeMap::new(),
            managed_fields: crate::snapshot::ManagedFields::LeftOut,
        };
        let set = DaemonSet {
            name: "node-agent".to_owned(),
            created: None,
            desired: 1,
            ready: 1,
            template_labels: std::collections::BTreeMap::new(),
            tolerations,
            host_network: network,
            args: Vec::new(),
            image: String::new(),
            is_node_agent: IsNodeAgent::Yes,
        };
        untolerated(&node, &set).is_some()
    }

    #[test]
    fn a_taint_keeps_off_what_does_not_tolerate_it() {
        let none = Vec::new;
        assert!(keeps_off("k=v:NoSchedule", none(), HostNetwork::No));
        assert!(keeps_off("k:NoExecute", none(), HostNetwork::No));
        assert!(!keeps_off("k=v:PreferNoSchedule", none(), HostNetwork::No));
        assert!(!keeps_off("", none(), HostNetwork::No));
    }

    #[test]
    fn a_toleration_is_matched_by_key_value_and_effect() {
        let off = |tolerated| keeps_off("k=v:NoSchedule", vec![tolerated], HostNetwork::No);
        assert!(!off(toleration("", "Exists", "", "")));
        assert!(!off(toleration("k", "Exists", "", "NoSchedule")));
        assert!(!off(toleration("k", "", "v", "")));
        assert!(!off(toleration("k", "Equal", "v", "NoSchedule")));
        assert!(off(toleration("k", "Equal", "other", "")));
        assert!(off(toleration("k", "Exists", "", "NoExecute")));
        assert!(off(toleration("other", "Exists", "", "")));
    }

    #[test]
    fn what_the_daemon_set_controller_adds_is_tolerated() {
        let off = |taints| keeps_off(taints, Vec::new(), HostNetwork::No);
        assert!(!off(
            "node.kubernetes.io/unschedulable:NoSchedule node.kubernetes.io/disk-pressure:NoSchedule"
        ));
        assert!(!off("node.kubernetes.io/unreachable:NoExecute"));
        let network = "node.kubernetes.io/network-unavailable:NoSchedule";
        assert!(off(network));
        assert!(!keeps_off(network, Vec::new(), HostNetwork::Yes));
    }
}
