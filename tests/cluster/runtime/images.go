package runtime

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// image returns an image for any name. Its program is looked up when a container starts.
func image(name string) *runtimeapi.Image {
	return &runtimeapi.Image{Id: name, RepoTags: []string{name}, Size: 1, Spec: &runtimeapi.ImageSpec{Image: name},
		Uid: &runtimeapi.Int64Value{Value: imageUser}}
}

func (r *processRuntime) ImageStatus(_ context.Context, request *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	return &runtimeapi.ImageStatusResponse{Image: image(request.Image.Image)}, nil
}

func (r *processRuntime) PullImage(_ context.Context, request *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	return &runtimeapi.PullImageResponse{ImageRef: request.Image.Image}, nil
}

func (r *processRuntime) ListImages(context.Context, *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{}, nil
}

func (r *processRuntime) RemoveImage(context.Context, *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	return &runtimeapi.RemoveImageResponse{}, nil
}

func (r *processRuntime) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	usage := []*runtimeapi.FilesystemUsage{{Timestamp: time.Now().UnixNano(), FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: r.spec.Dir},
		UsedBytes: &runtimeapi.UInt64Value{}, InodesUsed: &runtimeapi.UInt64Value{}}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}
