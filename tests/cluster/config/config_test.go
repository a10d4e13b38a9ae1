package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func parse(t *testing.T, text string) Config {
	t.Helper()
	config, err := Parse([]byte(text), "/repository/tests")
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestRelativePathsStartFromTheRootAndTheRootFromTheFile(t *testing.T) {
	config := parse(t, `
root: ..
hostPaths: [data, /mnt/disk]
images:
- {name: a, entrypoint: [build/bin/a, relative/argument], path: [build/bin]}
- {name: b, entrypoint: [sh]}
- {name: c, root: build/images/c, entrypoint: [/bin/c], path: [relative]}`)
	want := Config{Root: "/repository", HostPaths: []string{"/repository/data", "/mnt/disk", "/repository"}, Images: []Image{
		{Name: "a", Entrypoint: []string{"/repository/build/bin/a", "relative/argument"}, Path: []string{"/repository/build/bin"}},
		{Name: "b", Entrypoint: []string{"sh"}},
		{Name: "c", Root: "/repository/build/images/c", Entrypoint: []string{"/bin/c"}, Path: []string{"relative"}}}}
	if !reflect.DeepEqual(config, want) {
		t.Errorf("got %+v\nwant %+v", config, want)
	}
}

func TestAPoolOfFewWordsIsAnOrdinaryOne(t *testing.T) {
	pool := parse(t, "nodePools: [{name: plain, count: 2}]").NodePools[0]
	want := NodePool{Name: "plain", Count: 2, Region: "us-central1", Zone: "us-central1-a", MachineType: "e2-standard-4",
		CPU: 4, Memory: "16Gi", ShutdownGracePeriod: "15s", SyncFrequency: "1m"}
	if !reflect.DeepEqual(pool, want) {
		t.Errorf("got %+v\nwant %+v", pool, want)
	}
	if taints := pool.NodeTaints(); len(taints) > 0 {
		t.Errorf("it has taints: %v", taints)
	}
}

func TestASpotPoolWithGPUsHasTheLabelsAndTaintsOfBoth(t *testing.T) {
	pool := parse(t, `nodePools: [{name: p, count: 1, gpus: 4, accelerator: nvidia-l4, spot: true, labels: {own: label},
		taints: [{key: own, value: taint, effect: NoExecute}]}]`).NodePools[0]
	for label, want := range map[string]string{LabelSpot: "true", LabelAccelerator: "nvidia-l4", LabelAcceleratorCount: "4",
		LabelNodePool: "p", "own": "label"} {
		if got := pool.NodeLabels()[label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	want := []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: "NoSchedule"},
		{Key: "cloud.google.com/gke-spot", Value: "true", Effect: "NoSchedule"}, {Key: "own", Value: "taint", Effect: "NoExecute"}}
	if got := pool.NodeTaints(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// autoscaled is the beginning of a configuration.
const autoscaled = "nodePools: [{name: a, count: 0, maxCount: 3}]\n"

func TestTheTimesOfTheAutoscalerHaveDefaults(t *testing.T) {
	config := parse(t, autoscaled+"autoscaler: {idleTime: 2m}")
	want := Autoscaler{ScanInterval: "1s", ProvisionTime: "2s", IdleTime: "2m", Backoff: "5s"}
	if config.Autoscaler != want || config.Autoscaler.IdleTime.Value() != 2*time.Minute {
		t.Errorf("got %+v, want %+v", config.Autoscaler, want)
	}
}

func TestOnlyAPoolWithAMaxCountIsAutoscaled(t *testing.T) {
	if config := parse(t, "nodePools: [{name: a, count: 1}]"); config.Autoscales() || config.Autoscaler != (Autoscaler{}) {
		t.Errorf("a pool of a fixed size is autoscaled: %+v", config)
	}
	if config := parse(t, autoscaled); !config.Autoscales() || !config.NodePools[0].Autoscales() {
		t.Errorf("a pool with a maxCount is not autoscaled: %+v", config)
	}
}

func TestAWrongConfigurationIsRefusedWithTheRemedy(t *testing.T) {
	for text, want := range map[string]string{
		"nodePool: []":                       `unknown field "nodePool"`,
		"network: 10.0.0.0/16":               `network "10.0.0.0/16" is not a block of 65536 loopback addresses; write one such as 127.77.0.0/16`,
		"network: 127.1.0.0/24":              `network "127.1.0.0/24" is not a block of 65536`,
		"network: 127.1.2.3/16":              `network "127.1.2.3/16" is not a block of 65536`,
		"network: 127.70":                    `network "127.7" is not a block of 65536`, // a YAML number, which lost its zero
		"args: {kubelet: [-v=3]}":            `there is no component "kubelet"; there are etcd, kube-apiserver`,
		"workerShare: 1.5":                   "workerShare 1.5 is not a part of a processor; write one such as 0.4",
		"nodePools: [{name: A_b, count: 1}]": "nodePools[0] (A_b): the name cannot be part of a node's",
		"nodePools: [{name: a, count: 1}, {name: a, count: 1}]":               "nodePools[1]: there are two pools named a; rename one",
		"nodePools: [{name: a, count: -1}]":                                   "count (-1)",
		"nodePools: [{name: a, count: 2, maxCount: 1}]":                       "maxCount (1) must not be less than count (2), which is the minimum",
		"nodePools: [{name: a, count: 0, maxCount: -1}]":                      "maxCount (-1) must not be less than count (0)",
		"nodePools: [{name: a, count: 1, gpus: 2}]":                           `gpus (2) and accelerator ("") go together`,
		"nodePools: [{name: a, count: 1, accelerator: nvidia-l4}]":            `gpus (0) and accelerator ("nvidia-l4") go together`,
		"nodePools: [{name: a, count: 1, memory: lots}]":                      `memory "lots" is not a quantity; write one such as 16Gi`,
		"nodePools: [{name: a, count: 1, shutdownGracePeriod: soon}]":         `shutdownGracePeriod "soon" is not a duration; write one such as 15s`,
		"nodePools: [{name: a, count: 1, syncFrequency: 0s}]":                 `syncFrequency "0s" is not a duration above zero; write one such as 1m`,
		"nodePools: [{name: a, count: 1, taints: [{key: k, effect: Never}]}]": `taint "k" needs a key and an effect out of`,
		autoscaled + "autoscaler: {scanInterval: often}":                      `autoscaler: scanInterval "often" is not a duration; write one such as 1s`,
		autoscaled + "autoscaler: {scanInterval: 0s}":                         "autoscaler: scanInterval (0s) is too short; write one such as 1s",
		autoscaled + "autoscaler: {provisionTime: -1s}":                       "autoscaler: provisionTime (-1s) is too short; write one such as 2s",
		"autoscaler: {idleTime: soon}":                                        `autoscaler: idleTime "soon" is not a duration; write one such as 60s`,
		autoscaled + "autoscaler: {idleTime: 5}":                              `autoscaler: idleTime "5" is not a duration; write one such as 60s`,
		autoscaled + "autoscaler: {backoff: 0s}":                              "autoscaler: backoff (0s) is too short; write one such as 5s",
		autoscaled + "autoscaler: {patience: 1s}":                             `unknown field "patience"`,
	} {
		if _, err := Parse([]byte(text), "/"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	before, file := parse(t, "network: 127.9.0.0/16\nroot: /r\nautoscaler: {backoff: 9s}\n"+
		"nodePools: [{name: a, count: 1, maxCount: 2, gpus: 1, accelerator: nvidia-l4}]"), t.TempDir()+"/c.yaml"
	if err := before.Write(file); err != nil {
		t.Fatal(err)
	}
	if after, err := Load(file); err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("wrote %+v, read %+v (%v)", before, after, err)
	}
}

func TestTheDemosClusterHasEightGPUsInThreeZones(t *testing.T) {
	config, err := Load("../gke.yaml")
	if err != nil {
		t.Fatal(err)
	}
	gpus, zones := 0, map[string]bool{}
	for _, pool := range config.NodePools {
		gpus += pool.Count * pool.GPUs
		zones[pool.Zone] = true
	}
	if gpus != 8 || len(zones) != 3 {
		t.Errorf("%d GPUs in %v", gpus, zones)
	}
}
