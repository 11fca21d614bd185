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

// Device is where models compute; OpenDevice opens one. It is closed after the Server has ended.
type Device interface{ Close() error }

// OpenDevice opens a device by the name that it has in config files: "cpu", "gpu", "gpu:1", or "auto", a GPU where
// there is one, else the host. Log, where it is not nil, is warned of a GPU that auto cannot use.
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

// SavedModelOptions say how SavedModels are run.
type SavedModelOptions struct {
	Runs   int    // of a model at the same time; 0: as many as there are CPUs
	Device Device // which computes, of all models: of OpenDevice; nil: the host
	// HardPlacement refuses models with ops that the device has no kernel for; else those run on the host.
	HardPlacement bool
	Tags          []string // of the graph that is served, exactly these; none: serve
	// NoLoadCheck loads a version whose ops are known. Else kernels must also take its element types and attributes, and each
	// signature makes a dry run.
	NoLoadCheck bool
	Log         *slog.Logger // of ops on the host, and of dry runs whose made-up values the model refused or which did not end, once for each version; nil: nowhere
}

// SavedModels loads SavedModels.
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

// savedModel is a session that says what its signatures parse.
type savedModel struct{ *session.Session }

// Features is what [servable.FeaturesOf] asks for.
func (m savedModel) Features(signature string) []servable.Feature {
	var all []servable.Feature
	for _, f := range m.Session.Features(signature) {
		all = append(all, servable.Feature(f))
	}
	return all
}

// onHost warns of what the device does not do for the model in dir.
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

// dryRunFailed logs that a signature of the model in dir refused values that were made up.
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
