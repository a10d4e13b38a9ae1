package node

import (
	"reflect"
	"testing"

	"sailor.dev/tests/cluster/config"
)

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	before := Spec{Name: "n", Dir: t.TempDir(), Network: "127.9", Subnet: 4, APIServerPort: 443,
		Pool: config.NodePool{Name: "p", GPUs: 2, Accelerator: "nvidia-l4"}, Images: []config.Image{{Name: "*", Entrypoint: []string{"/bin/true"}}}}
	if err := before.Write(before.File("spec.json")); err != nil {
		t.Fatal(err)
	}
	if after, err := Read(before.File("spec.json")); err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("wrote %+v, read %+v (%v)", before, after, err)
	}
	if ip := before.IP(); ip != "127.9.4.1" {
		t.Errorf("its address is %s", ip)
	}
}
