package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// checkWritable creates the model_dir, and fails if it cannot be written,
// before any work is done.
func checkWritable(dir string) error {
	err := atomicfile.MkdirAll(atomicfile.OS{}, dir)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".writable-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("model_dir %s cannot be written: %w: free it, or choose another with --set model_dir=DIR", dir, err)
	}
	return nil
}
