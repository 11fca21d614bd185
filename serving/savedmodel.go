package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/internal/platform/statustext"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/internal/runtime/gpus"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/internal/serving/warmup"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

var _ servable.Model = (*session.Session)(nil)

// Device is where models compute; OpenDevice opens one. Close it after the Server has ended.
type Device interface{ Close() error }

// OpenDevice opens a device by its name in config files: "cpu", "gpu", "gpu:1", or "auto", a GPU if there is one, else
// the host. If log is not nil, a GPU that auto cannot use is logged as a warning.
func OpenDevice(ctx context.Context, name string, log *slog.Logger) (Device, error) {
	n, err := gpus.Parse(name)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d, _, err := gpus.NewChooser(gpus.CUDA(), log).Open(ctx, n)
	return d, err
}

// SavedModelOptions say how SavedModels runs models.
type SavedModelOptions struct {
	Runs   int    // runs of a model at the same time; 0: the number of CPUs
	Device Device // of OpenDevice, for all models; nil: the host
	// HardPlacement refuses models with ops for which the device has no kernel, instead of running these ops on the host.
	HardPlacement bool
	Tags          []string // exactly the tags of the graph to serve; none: serve
	// NoLoadCheck only checks that all ops of a version are known. By default kernels must also support its element types
	// and attributes, and each signature makes a dry run.
	NoLoadCheck bool
	Log         *slog.Logger // for warnings of ops on the host, and of dry runs that the model refused or that did not end, once per version; nil: none
}

// SavedModels returns a Loader of SavedModels.
func SavedModels(o SavedModelOptions) Loader {
	return func(ctx context.Context, dir string) (Model, error) {
		dev, ok := o.Device.(device.Device)
		if !ok && o.Device != nil {
			return nil, fmt.Errorf("device of type %T: expected one of serving.OpenDevice", o.Device)
		}
		s, err := session.Open(ctx, dir, session.Options{MaxConcurrent: o.Runs, Device: dev, HardPlacement: o.HardPlacement, Tags: o.Tags,
			OnHost: o.onHost(dir),
			Check: session.Check{Off: o.NoLoadCheck, Failed: o.dryRunFailed(dir), Feeds: func(sigs map[string]*pb.SignatureDef) map[string][]map[string]*tensor.Tensor {
				return warmup.Feeds(ctx, dir, sigs)
			}}})
		if err != nil {
			return nil, err
		}
		return savedModel{s}, nil
	}
}

// savedModel is a session that describes the features that its signatures parse.
type savedModel struct{ *session.Session }

// Features implements the interface of [servable.FeaturesOf].
func (m savedModel) Features(signature string) []servable.Feature {
	var all []servable.Feature
	for _, f := range m.Session.Features(signature) {
		all = append(all, servable.Feature(f))
	}
	return all
}

// onHost returns a function that warns of ops that the device does not run for the model in dir.
func (o SavedModelOptions) onHost(dir string) func([]string, int) {
	if o.Log == nil {
		return nil
	}
	return func(steps []string, others int) {
		n := len(steps)
		o.Log.Warn(strconv.Itoa(n)+" of "+strconv.Itoa(n+others)+" operations of each run are done on the host, which the GPU waits for: it has no kernel for them",
			"model", dir, "operations", engine.CountOps(steps), "first", steps[0])
	}
}

// dryRunFailed returns a function that logs that a signature of the model in dir refused the values of a dry run.
func (o SavedModelOptions) dryRunFailed(dir string) func(string, error) {
	if o.Log == nil {
		return nil
	}
	return func(signature string, err error) {
		text := "a dry run's made-up values were refused; nothing is missing"
		if errors.Is(err, session.ErrUnchecked) {
			text = "a signature was not checked: its dry run took too long, so it may need what is missing"
		}
		o.Log.Info(text, "model", dir, "signature", signature, "error", statustext.Convert(err).Message())
	}
}
