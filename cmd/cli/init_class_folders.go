package cli

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/goestimator/goestimator/inputs"
)

// classFolders are folders that have a folder of files for each class.
type classFolders struct {
	train, test string // test: none where files of train are to be held out
	classes     []string
}

const (
	fewestFiles = 20 // that a model is trained on
	heldFiles   = 10 // each so many-th file is held out
)

// findClassFolders looks at a folder with a folder for each class, or with such folders for training and for tests.
func findClassFolders(dir string) (*classFolders, error) {
	f := &classFolders{train: dir}
	names, err := inputs.ImageClasses(dir)
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, "train") && len(names) <= 3 {
		f.train = filepath.Join(dir, "train")
		for _, n := range []string{"validation", "valid", "val", "test"} {
			if slices.Contains(names, n) {
				f.test = filepath.Join(dir, n)
				break
			}
		}
		if names, err = inputs.ImageClasses(f.train); err != nil {
			return nil, err
		}
	}
	f.classes = names
	return f, nil
}

// files are the files to train on of a kind, by classes.
func (f *classFolders) files(kind func(name string) bool) (files []string, err error) {
	for _, c := range f.classes {
		entries, err := os.ReadDir(filepath.Join(f.train, c))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if kind(e.Name()) {
				files = append(files, filepath.Join(f.train, c, e.Name()))
			}
		}
	}
	return files, nil
}

// trained is how many of so many files are trained on.
func (f *classFolders) trained(files int) int {
	if f.test == "" {
		files -= (files + heldFiles - 1) / heldFiles
	}
	return files
}
