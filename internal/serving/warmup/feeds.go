package warmup

import (
	"context"
	"errors"
	"maps"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// feedRecords is how many records Feeds reads: a few values of each signature are enough.
const feedRecords = 16

// Feeds returns the feeds that the first records in dir give a model, by signature, as requests of the same kind would.
// It ends at a record that cannot be read; Run reports what is wrong with it.
func Feeds(ctx context.Context, dir string, sigs map[string]*pb.SignatureDef) map[string][]map[string]*tensor.Tensor {
	path := filepath.Join(dir, filepath.FromSlash(File))
	records, end, err := open(path)
	if err != nil {
		return nil
	}
	defer end()
	memory := budget.NewServer(budget.Limits{})
	defer memory.Close()
	out := map[string][]map[string]*tensor.Tensor{}
	r := tfrecord.NewReader(records)
	for range feedRecords {
		record, err := r.Next()
		if err != nil {
			break
		}
		for key := range sigs {
			c := &capture{sigs: sigs, only: key}
			in := file{path: path, model: "m", Options: Options{Memory: memory}}
			err := in.replay(ctx, &inference.Service{Models: only{model: c}}, record)
			if errors.Is(err, errUnreadable) {
				return out
			}
			if c.feeds != nil {
				out[key] = append(out[key], c.feeds)
			}
		}
	}
	return out
}

// errCaptured ends a request once its feeds are known.
var errCaptured = errors.New("the feeds are known")

// capture is a model with one signature that keeps its feeds and computes nothing.
type capture struct {
	sigs  map[string]*pb.SignatureDef
	only  string
	feeds map[string]*tensor.Tensor
}

// Signatures implements servable.Model.
func (c *capture) Signatures() map[string]*pb.SignatureDef {
	return map[string]*pb.SignatureDef{c.only: c.sigs[c.only]}
}

// Run implements servable.Model.
func (c *capture) Run(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
	c.feeds = maps.Clone(feeds)
	return nil, errCaptured
}

// Close implements servable.Model.
func (c *capture) Close() error { return nil }

var _ servable.Model = (*capture)(nil)
