package estimator

import (
	"context"

	"github.com/goestimator/goestimator/internal/export"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// ExportONNX writes the newest checkpoint as <base>/<Unix time>/model.onnx and
// returns that folder. The model has the inputs of the raw serving input and the
// outputs of the signature predict. Ops without an ONNX form, such as hashes and
// lookup tables of strings, are an error that names each of them.
func (e *Estimator) ExportONNX(ctx context.Context, base string, serving ServingInput, opts ...ExportOption) (string, error) {
	return e.export(ctx, serving, opts, func(m export.Model, o exportOptions) (string, error) {
		return export.ONNX(atomicfile.OS{}, base, m, o.write)
	})
}
