package export

import (
	"log/slog"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Options say how to write a model. The zero value is the usual choice.
type Options struct {
	// Version is the name of the directory; 0: the current Unix time in seconds, or
	// the number after the last existing one.
	Version int64
	Text    bool         // saved_model.pbtxt instead of .pb
	Log     *slog.Logger // nil: slog.Default()
}

// SavedModel writes m to <base>/<version> and returns that directory. It is created
// atomically. The error names the node, column or signature at fault.
func SavedModel(fsys atomicfile.FS, base string, m Model, o Options) (dir string, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	w, err := assemble(m, o)
	if err != nil {
		return "", err
	}
	return savedmodel.Write(fsys, base, o.Version, w)
}
