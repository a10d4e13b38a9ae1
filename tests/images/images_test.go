// Package images tests the file systems of the container images: what is in them, and that the operator and the trainer run from them
// on the local cluster as they would in a cloud: as their own user, without a shell, on volumes that root owns.
package images

import (
	"debug/elf"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const (
	operator = "operator"
	trainer  = "trainer-cpu"
)

// rootOf is the folder with the file system of an image. Without images, it skips the test.
func rootOf(t *testing.T, image string) string {
	t.Helper()
	if noImages != "" {
		t.Skip(noImages)
	}
	return filepath.Join(folder, image)
}

// forEachFile calls a function with the path in the image of each file, folder and link.
func forEachFile(t *testing.T, image string, see func(path string, info fs.FileInfo)) {
	t.Helper()
	walk(t, rootOf(t, image), see)
}

// walk calls a function with the path below the root of each file, folder and link.
func walk(t *testing.T, root string, see func(path string, info fs.FileInfo)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			see("/"+strings.TrimPrefix(strings.TrimPrefix(path, root), "/"), info)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func sizeOf(t *testing.T, image string) (size int64) {
	t.Helper()
	forEachFile(t, image, func(_ string, info fs.FileInfo) {
		if info.Mode().IsRegular() {
			size += info.Size()
		}
	})
	return size
}

func TestTheOperatorsImageIsSmallerThanAHundredMegabytes(t *testing.T) {
	if size := sizeOf(t, operator); size < 10e6 || size > 100e6 {
		t.Errorf("it has %d MB", size/1e6)
	}
}

func TestTheTrainersImageForCPUsHasOnlyThoseLibrariesOfCUDAThatLibTorchLoads(t *testing.T) {
	var libraries []string
	forEachFile(t, trainer, func(path string, info fs.FileInfo) {
		if name := filepath.Base(path); info.Mode().IsRegular() && regexp.MustCompile(`cu(da|blas|dnn|pti|fft|rand|solver|sparse)|nccl|nv`).MatchString(name) && strings.Contains(name, ".so") {
			libraries = append(libraries, name)
		}
	})
	if want := []string{"libcudart.so.13", "libcupti.so.13"}; !slices.Equal(libraries, want) {
		t.Errorf("it has %v, not %v", libraries, want)
	}
	if size := sizeOf(t, trainer); size > 500e6 {
		t.Errorf("it has %d MB", size/1e6)
	}
}

func TestAnImagesProgramsHaveNoSymbols(t *testing.T) {
	for _, program := range []string{
		rootOf(t, operator) + "/usr/local/bin/sailor-operator", rootOf(t, operator) + "/usr/local/bin/sailor",
		rootOf(t, trainer) + "/usr/local/bin/sailor-trainer",
	} {
		file, err := elf.Open(program)
		if err != nil {
			t.Error(err)
			continue
		}
		defer file.Close()
		for _, section := range []string{".symtab", ".debug_line", ".debug_info"} {
			if file.Section(section) != nil {
				t.Errorf("%s has the section %s", program, section)
			}
		}
	}
}

func TestAnImagesFilesBelongToRootAndNobodyElseMayChangeThem(t *testing.T) {
	for _, image := range []string{operator, trainer} {
		forEachFile(t, image, func(path string, info fs.FileInfo) {
			owner, mode := info.Sys().(*syscall.Stat_t), info.Mode()
			isForAll := path == "/tmp" && mode&fs.ModeSticky != 0
			switch {
			case owner.Uid != 0 || owner.Gid != 0:
				t.Errorf("%s: %s belongs to %d:%d", image, path, owner.Uid, owner.Gid)
			case mode&fs.ModeSymlink == 0 && mode&0o022 != 0 && !isForAll:
				t.Errorf("%s: others may change %s (%s)", image, path, mode)
			case mode&0o004 == 0:
				t.Errorf("%s: its user cannot read %s (%s)", image, path, mode)
			case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
				t.Errorf("%s: %s gives its user the rights of another one (%s)", image, path, mode)
			}
		})
	}
}

func TestAnImageHasNoShellAndNoPackageManager(t *testing.T) {
	for _, image := range []string{operator, trainer} {
		forEachFile(t, image, func(path string, info fs.FileInfo) {
			isLibrary := strings.Contains(filepath.Base(path), ".so")
			isOurs := strings.HasPrefix(path, "/usr/local/bin/sailor")
			if info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !isLibrary && !isOurs {
				t.Errorf("%s can run %s", image, path)
			}
		})
	}
}

// bill is what the tests read of a bill of materials in the format CycloneDX.
type bill struct {
	Format     string `json:"bomFormat"`
	Version    string `json:"specVersion"`
	Components []struct {
		Name       string `json:"name"`
		Version    string `json:"version"`
		PackageURL string `json:"purl"`
		Properties []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"properties"`
	} `json:"components"`
}

func billOf(t *testing.T, image string) (b bill) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(rootOf(t, image), "usr/share/sailor/sbom.cdx.json"))
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// use returns how the image uses a component; empty: the bill does not name it.
func (b bill) use(name string) string {
	for _, component := range b.Components {
		if component.Name == name && component.Version != "" && component.PackageURL != "" {
			return component.Properties[0].Value
		}
	}
	return ""
}

func TestAnImagesBillOfMaterialsNamesWhatItsProgramsAreMadeOf(t *testing.T) {
	const file, compiled = "file in the image", "compiled in"
	for image, want := range map[string]map[string]string{
		operator: {"libc6": file, "libstdc++6": file, "libssl3": file, "libcpprest2.10": file, "libyaml-cpp0.7": file, "libfmt9": file,
			"libprometheus-cpp-core1.0": file, "libprometheus-cpp-pull1.0": "", "zlib1g": file, "ca-certificates": file, "nlohmann-json3-dev": compiled, "libexpected-dev": compiled,
			"libcli11-dev": compiled, "libboost1.74-dev": compiled, "torch": "", "libgloo-dev": "", "libgtest-dev": ""},
		trainer: {"libc6": file, "libssl3": file, "libcpprest2.10": file, "torch": file, "nvidia-cuda-runtime": file, "nvidia-cuda-cupti": file,
			"nlohmann-json3-dev": compiled, "libgloo-dev": compiled, "libprometheus-cpp-core1.0": "", "libgtest-dev": ""},
	} {
		b := billOf(t, image)
		if b.Format != "CycloneDX" || b.Version != "1.5" {
			t.Errorf("%s: the format is %s %s", image, b.Format, b.Version)
		}
		for _, component := range b.Components {
			if strings.ContainsAny(component.PackageURL, "+ ") { // libstdc++6 is libstdc%2B%2B6 there
				t.Errorf("%s: %s is no package URL", image, component.PackageURL)
			}
		}
		for name, use := range want {
			if got := b.use(name); got != use {
				t.Errorf("%s: %s is %q, not %q", image, name, got, use)
			}
		}
	}
}

func TestAnImageHasTheLicenceOfEachPackageOfWhichItHasAFile(t *testing.T) {
	for _, image := range []string{operator, trainer} {
		for _, component := range billOf(t, image).Components {
			if component.Properties[0].Value != "file in the image" {
				continue
			}
			if licences, err := os.ReadDir(filepath.Join(rootOf(t, image), "usr/share/doc", component.Name)); err != nil || len(licences) == 0 {
				t.Errorf("%s has no licence of %s (%v)", image, component.Name, err)
			}
			isDebian := strings.HasPrefix(component.PackageURL, "pkg:deb/")
			if _, err := os.Stat(filepath.Join(rootOf(t, image), "var/lib/dpkg/status.d", component.Name)); isDebian && err != nil {
				t.Errorf("a vulnerability scanner does not find %s in %s: %v", component.Name, image, err)
			}
		}
	}
}
