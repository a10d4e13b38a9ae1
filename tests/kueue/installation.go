package kueue

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"sailor.dev/tests/cluster/testcluster"
)

// installation is what an administrator applies to install Kueue, without what would run in the cluster.
type installation struct {
	definitions []*unstructured.Unstructured
	roles       []*unstructured.Unstructured // and the namespace, the service account and its bindings
	webhooks    []*unstructured.Unstructured
}

// replaced are the kinds that have no use if the manager runs outside of the cluster. Its visibility server is switched off.
var replaced = map[string]bool{"Deployment": true, "Service": true, "APIService": true, "ConfigMap": true, "Secret": true}

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	flavors     = resource("resourceflavors")
	workloads   = resource("workloads")
)

// storageVersion is the version in which the API server stores Kueue's objects, and the one that this package uses. Reading it needs no
// conversion.
const storageVersion = "v1beta1"

func resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: storageVersion, Resource: name}
}

// defined is the resource of a definition, whose name is that of the resource and the group.
func defined(definition *unstructured.Unstructured) schema.GroupVersionResource {
	name, _, _ := strings.Cut(definition.GetName(), ".")
	return resource(name)
}

// render reads Kueue's own kustomization, and directs the API server to this machine instead of a service in the cluster.
func (k *Kueue) render(ctx context.Context) error {
	text, err := k.cluster.Kubectl(ctx, "kustomize", filepath.Join(k.program.sources, "config", "default"))
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(k.file("ca.crt"))
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading Kueue's manifests: %w", err)
		}
		if err := k.install.add(object, k.webhookURL(), authority); err != nil {
			return fmt.Errorf("%s %s of Kueue: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

func (i *installation) add(object *unstructured.Unstructured, url string, authority []byte) error {
	kind := object.GetKind()
	switch {
	case replaced[kind]:
	case kind == "CustomResourceDefinition":
		i.definitions = append(i.definitions, object)
		conversion, found, err := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook")
		if !found || err != nil {
			return err
		}
		if err := redirect(conversion, url, authority); err != nil {
			return err
		}
		return unstructured.SetNestedMap(object.Object, conversion, "spec", "conversion", "webhook")
	case strings.HasSuffix(kind, "WebhookConfiguration"):
		i.webhooks = append(i.webhooks, object)
		webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		for _, webhook := range webhooks {
			err = errors.Join(err, redirect(webhook.(map[string]any), url, authority))
		}
		return errors.Join(err, unstructured.SetNestedSlice(object.Object, webhooks, "webhooks"))
	default:
		i.roles = append(i.roles, object)
	}
	return nil
}

// redirect replaces the service of a webhook by the same path of the URL.
func redirect(webhook map[string]any, url string, authority []byte) error {
	path, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
	if !found || err != nil {
		return errors.Join(errors.New("a webhook has no service with a path"), err)
	}
	webhook["clientConfig"] = map[string]any{"url": url + path, "caBundle": base64.StdEncoding.EncodeToString(authority)}
	return nil
}

// define applies all but the webhooks, and waits until the API server serves Kueue's resources.
func (k *Kueue) define(ctx context.Context) error {
	if err := k.applyObjects(ctx, append(k.install.roles, k.install.definitions...)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return testcluster.Await(ctx, "Kueue's resources to be served", func(ctx context.Context) (bool, error) {
		for _, definition := range k.install.definitions {
			if _, err := k.client.Resource(defined(definition)).List(ctx, metav1.ListOptions{}); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// register applies the webhooks, to which the process answers by now: without an answer, the API server refuses new pods.
func (k *Kueue) register(ctx context.Context) error { return k.applyObjects(ctx, k.install.webhooks) }

// applyObjects does it on the server's side: the definition of Workload is too large for the annotation that kubectl would write.
func (k *Kueue) applyObjects(ctx context.Context, objects []*unstructured.Unstructured) error {
	manifest, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		return err
	}
	_, err = k.cluster.KubectlWithInput(ctx, string(manifest), "apply", "--server-side", "--force-conflicts", "-f", "-")
	return err
}

// awaitWebhooks returns when a new ResourceFlavor passes through Kueue, which adds a finalizer to it. None is created.
func (k *Kueue) awaitWebhooks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	flavor := &unstructured.Unstructured{Object: map[string]any{"apiVersion": flavors.GroupVersion().String(), "kind": "ResourceFlavor",
		"metadata": map[string]any{"name": "probe"}}}
	return testcluster.Await(ctx, "Kueue's webhooks to be called", func(ctx context.Context) (bool, error) {
		created, err := k.client.Resource(flavors).Create(ctx, flavor, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(created.GetFinalizers()) > 0, err
	})
}

func (k *Kueue) unregister(ctx context.Context) (err error) {
	for _, webhook := range k.install.webhooks {
		configurations := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
			Resource: strings.ToLower(webhook.GetKind()) + "s"}
		err = errors.Join(err, ignoreNotFound(k.client.Resource(configurations).Delete(ctx, webhook.GetName(), metav1.DeleteOptions{})))
	}
	return err
}

// undefine removes all objects of Kueue's kinds, then the kinds, and returns when they are gone.
func (k *Kueue) undefine(ctx context.Context) error {
	if err := k.untilNone(ctx, "all objects of Kueue to be gone", k.removeObjects); err != nil {
		return err
	}
	return k.untilNone(ctx, "Kueue's definitions to be gone", k.removeDefinition)
}

// untilNone calls the function for every definition, until nothing is left of any.
func (k *Kueue) untilNone(ctx context.Context, what string, remove func(context.Context, *unstructured.Unstructured) (bool, error)) error {
	return testcluster.Await(ctx, what, func(ctx context.Context) (bool, error) {
		left := 0
		var all error
		for _, definition := range k.install.definitions {
			isGone, err := remove(ctx, definition)
			all = errors.Join(all, err)
			if !isGone {
				left++
			}
		}
		return left == 0, all
	})
}

// removeObjects returns true if no object of the kind is left. It does not wait for those who would remove the finalizers.
func (k *Kueue) removeObjects(ctx context.Context, definition *unstructured.Unstructured) (bool, error) {
	client := k.client.Resource(defined(definition))
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	}
	for _, object := range list.Items {
		inNamespace := client.Namespace(object.GetNamespace())
		err = errors.Join(err, ignoreNotFound(inNamespace.Delete(ctx, object.GetName(), metav1.DeleteOptions{})))
		_, patched := inNamespace.Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`),
			metav1.PatchOptions{})
		err = errors.Join(err, ignoreNotFound(patched))
	}
	return len(list.Items) == 0, err
}

// removeDefinition returns true if the definition is gone.
func (k *Kueue) removeDefinition(ctx context.Context, definition *unstructured.Unstructured) (bool, error) {
	err := k.client.Resource(definitions).Delete(ctx, definition.GetName(), metav1.DeleteOptions{})
	return apierrors.IsNotFound(err), ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
