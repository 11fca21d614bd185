package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/summary"
)

// The limits of a search; Find does not look beyond them.
const (
	mostFolders = 20_000
	mostRuns    = 1000
	mostDepth   = 8
)

// ErrMany is wrapped if a folder exceeds the limits of a search.
var ErrMany = errors.New("too much to look at")

// Find returns the model_dirs at and below a folder, sorted by name: folders with checkpoints, the state of a run, or event files.
// Evaluations and exports inside a model_dir are not runs. A folder that does not exist has no runs. If a limit is reached, the error
// wraps ErrMany, and the runs found so far are returned.
func Find(root string) ([]string, error) {
	info, err := os.Stat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s: expected a folder of runs", root)
	}
	s := search{}
	err = s.look(root, 0, false)
	return s.found, err
}

type search struct {
	found   []string
	folders int
}

// look looks at a folder and its subfolders; within reports whether the folder lies in a model_dir.
func (s *search) look(dir string, depth int, within bool) error {
	if s.folders++; s.folders > mostFolders {
		return fmt.Errorf("%w: more than %d folders: name a folder further down", ErrMany, mostFolders)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		if depth == 0 {
			return err
		}
		return nil // removed meanwhile, or not readable
	}
	if isRun(dir, entries, within) {
		if len(s.found) == mostRuns {
			return fmt.Errorf("%w: more than %d runs: name a folder further down", ErrMany, mostRuns)
		}
		s.found, within = append(s.found, dir), true
	}
	if depth == mostDepth {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || within && e.Name() == "export" {
			continue
		}
		if err := s.look(filepath.Join(dir, e.Name()), depth+1, within); err != nil {
			return err
		}
	}
	return nil
}

// isRun reports whether a folder is a model_dir.
func isRun(dir string, entries []fs.DirEntry, within bool) bool {
	events := false
	for _, e := range entries {
		switch {
		case e.IsDir():
		case e.Name() == checkpoint.StateFile || e.Name() == checkpoint.RunStateFile:
			return true
		case strings.HasPrefix(e.Name(), summary.FilePrefix):
			events = true
		}
	}
	return events && !within && !strings.HasPrefix(filepath.Base(dir), "eval_") && filepath.Base(dir) != "eval"
}
