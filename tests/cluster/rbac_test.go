package cluster_test

import (
	"context"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sailor.dev/tests/cluster/testcluster"
)

// withToken is a client that has nothing but a bearer token.
func withToken(t *testing.T, token string) *kubernetes.Clientset {
	t.Helper()
	config := rest.AnonymousClientConfig(shared.REST)
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestTheProjectedTokenOfAPodIsItsServiceAccounts(t *testing.T) {
	create(t, aPod("bearer", "cat /var/run/secrets/kubernetes.io/serviceaccount/token"))
	client := withToken(t, output(t, "bearer"))
	// The token is bound to its pod: while that exists, it is good.
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := review.Status.UserInfo.Username; got != "system:serviceaccount:default:default" {
		t.Errorf("the API server takes it for %s", got)
	}
}

func TestAPodThatWantsNoTokenHasNone(t *testing.T) {
	pod, no := aPod("tokenless", "ls /var/run/secrets/kubernetes.io 2>&1"), false
	pod.Spec.AutomountServiceAccountToken = &no
	create(t, pod)
	if got := output(t, pod.Name); !strings.Contains(got, "No such file") {
		t.Errorf("it finds %q", got)
	}
}

func TestAServiceAccountMayDoWhatItsRoleSaysAndNoMore(t *testing.T) {
	accounts := shared.Kubernetes.CoreV1().ServiceAccounts("default")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := accounts.Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := accounts.CreateToken(t.Context(), "reader", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client := withToken(t, request.Status.Token)
	if _, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("without a role it may list pods: %v", err)
	}
	for _, args := range [][]string{
		{"create", "role", "reader", "--verb=list", "--resource=pods"},
		{"create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader"},
	} {
		if _, err := shared.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	testcluster.Eventually(t, patience, "the role to be in force", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return err == nil, err
	})
	if _, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it may list secrets: %v", err)
	}
}
