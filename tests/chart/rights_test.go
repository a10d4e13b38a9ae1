package chart

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sailor.dev/tests/cluster/testcluster"
)

// can asks the API server whether a user may do something, such as "create pods -n default".
func can(ctx context.Context, user, what string) (bool, error) {
	answer, err := cluster.Kubectl(ctx, append([]string{"auth", "can-i", "--as=" + user}, strings.Fields(what)...)...)
	if answer = strings.TrimSpace(answer); answer == "yes" || answer == "no" {
		return answer == "yes", nil // a no has an exit status, too
	}
	return false, err
}

func mustAnswer(t *testing.T, user string, want bool, questions ...string) {
	t.Helper()
	for _, question := range questions {
		got, err := can(testContext(t), user, question)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s can %s: %t, not %t", user, question, got, want)
		}
	}
}

// readsSecrets tells whether the rule lets somebody read Secrets that it does not name.
func readsSecrets(resource string, rule map[string]any) bool {
	verbs, _, _ := unstructured.NestedStringSlice(rule, "verbs")
	names, _, _ := unstructured.NestedStringSlice(rule, "resourceNames")
	reads := slices.ContainsFunc([]string{"get", "list", "watch", "update"}, func(verb string) bool { return slices.Contains(verbs, verb) })
	return resource == "secrets" && reads && len(names) == 0
}

func TestNoRoleHasAWildcardOrReadsSecrets(t *testing.T) {
	roles := 0
	for _, object := range render(t, "--set", "watchNamespaces={team,second},kueue.enabled=true") {
		if kind := object.GetKind(); kind != "Role" && kind != "ClusterRole" {
			continue
		}
		roles++
		rules, _, _ := unstructured.NestedSlice(object.Object, "rules")
		for _, rule := range rules {
			for _, field := range []string{"apiGroups", "resources", "verbs"} {
				values, found, err := unstructured.NestedStringSlice(rule.(map[string]any), field)
				if !found || err != nil {
					t.Fatalf("%s has a rule without %s: %v", object.GetName(), field, rule)
				}
				for _, value := range values {
					if strings.Contains(value, "*") || readsSecrets(value, rule.(map[string]any)) {
						t.Errorf("%s %s allows %s %q", object.GetKind(), object.GetName(), field, value)
					}
				}
			}
		}
	}
	if roles != 6 {
		t.Errorf("the chart has %d roles, 6 were expected", roles)
	}
}

func TestTheOperatorMayDoItsWorkAndNothingElse(t *testing.T) {
	install(t, chartFolder())
	mustAnswer(t, operator, true,
		"list trainingjobs.sailor.dev -A", "watch trainingjobs.sailor.dev -A", "delete trainingjobs.sailor.dev -n default",
		"patch trainingjobs.sailor.dev --subresource=status -n default", "update trainingjobs.sailor.dev --subresource=finalizers -n default",
		"watch gpupools.sailor.dev", "patch gpupools.sailor.dev --subresource=status", "watch modelprofiles.sailor.dev", "watch nodes", "watch priorityclasses.scheduling.k8s.io",
		"create pods -n default", "delete pods -n default", "watch pods -A",
		"create jobrecords.sailor.dev -n default", "patch jobrecords.sailor.dev -n default", "delete jobrecords.sailor.dev -n default", "watch jobrecords.sailor.dev -A",
		"create configmaps -n default", "patch configmaps -n default", "watch configmaps -A", "create secrets -n default", "patch secrets -n "+namespace,
		"create secrets -n default", "patch secrets -n default", "delete secrets -n default", "get secrets/sailor-ca -n "+namespace, "get secrets/sailor-ca-identity -n "+namespace, "update secrets/sailor-ca-identity -n "+namespace,
		"create networkpolicies.networking.k8s.io -n default", "patch networkpolicies.networking.k8s.io -n default",
		"list events -n default", "watch events -n default", "create events.events.k8s.io -n default", "patch events.events.k8s.io -n default",
		"create leases.coordination.k8s.io -n "+namespace, "update leases.coordination.k8s.io -n "+namespace)
	mustAnswer(t, operator, false,
		"get secrets -A", "list secrets -n "+namespace, "get secrets/sailor-ca -n default", "update secrets/sailor-ca -n "+namespace, "get secrets/other -n "+namespace, "create pods --subresource=exec -n default", "get pods --subresource=log -n default",
		"create serviceaccounts --subresource=token -n default", "update nodes", "delete nodes", "create trainingjobs.sailor.dev -n default",
		"patch trainingjobs.sailor.dev -n default", "patch gpupools.sailor.dev", "create deployments.apps -n default",
		"create clusterroles.rbac.authorization.k8s.io", "patch customresourcedefinitions.apiextensions.k8s.io",
		"list workloads.kueue.x-k8s.io -n default", "get leases.coordination.k8s.io -n kube-system", "deletecollection pods -n default", "patch pods -n default",
		"delete configmaps -n default", "delete leases.coordination.k8s.io -n "+namespace)
}

func TestSomeNamespacesAreWatchedWithRightsInNoOthers(t *testing.T) {
	for _, namespace := range []string{"team", "second"} {
		kubectl(t, "create", "namespace", namespace)
		t.Cleanup(func() { kubectl(t, "delete", "namespace", namespace) })
	}
	install(t, chartFolder(), "--set", "watchNamespaces={team,second}")
	mustAnswer(t, operator, true, "create pods -n team", "watch trainingjobs.sailor.dev -n team", "create configmaps -n team", "patch secrets -n team", "create pods -n second",
		"watch jobrecords.sailor.dev -n second", "watch nodes", "watch pods -A") // those elsewhere use GPUs, too
	mustAnswer(t, operator, false, "create pods -n default", "delete pods -n default", "watch trainingjobs.sailor.dev -A", "watch configmaps -A",
		"watch jobrecords.sailor.dev -A", "patch gpupools.sailor.dev --subresource=status")
}

func TestUsersWhoMayEditANamespaceMayRunJobsThere(t *testing.T) {
	install(t, chartFolder())
	for _, role := range []string{"view", "edit"} {
		kubectl(t, "create", "rolebinding", role+"er", "--clusterrole="+role, "--user="+role+"er")
		t.Cleanup(func() { kubectl(t, "delete", "rolebinding", role+"er") })
	}
	testcluster.Eventually(t, time.Minute, "the roles to be aggregated", func(ctx context.Context) (bool, error) {
		return can(ctx, "editer", "create trainingjobs.sailor.dev -n default")
	})
	mustAnswer(t, "editer", true, "delete trainingjobs.sailor.dev -n default", "patch trainingjobs.sailor.dev --subresource=scale -n default")
	mustAnswer(t, "editer", false, "create gpupools.sailor.dev", "create jobrecords.sailor.dev -n default", "patch jobrecords.sailor.dev -n default", "patch trainingjobs.sailor.dev --subresource=status -n default", "create trainingjobs.sailor.dev -n "+namespace)
	mustAnswer(t, "viewer", true, "get jobrecords.sailor.dev -n default", "get trainingjobs.sailor.dev -n default", "watch trainingjobs.sailor.dev -n default")
	mustAnswer(t, "viewer", false, "create trainingjobs.sailor.dev -n default", "delete trainingjobs.sailor.dev -n default")
}
