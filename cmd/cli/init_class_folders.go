package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs"
)

// classFolders are folders with one subfolder for each class.
type classFolders struct {
	train, test string // test: empty if files of train are held out instead
	classes     []string
}

const (
	fewestFiles = 20 // least number to train on
	heldFiles   = 10 // one file in so many is held out
)

// findClassFolders looks at a folder with one subfolder for each class, or with such folders for training and for tests. It ignores a test folder
// that has none of the classes, such as a folder of unlabelled files.
func findClassFolders(dir string) (*classFolders, error) {
	names, err := inputs.ImageClasses(dir)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, "train") || len(names) > 3 {
		return &classFolders{train: dir, classes: names}, nil
	}
	f := &classFolders{train: filepath.Join(dir, "train")}
	if f.classes, err = inputs.ImageClasses(f.train); err != nil {
		return nil, err
	}
	for _, n := range []string{"validation", "valid", "val", "test"} {
		if slices.Contains(names, n) && f.tests(filepath.Join(dir, n)) {
			f.test = filepath.Join(dir, n)
			break
		}
	}
	return f, nil
}

// tests reports whether a folder has a subfolder for one of the classes.
func (f *classFolders) tests(dir string) bool {
	names, err := inputs.ImageClasses(dir)
	return err == nil && slices.ContainsFunc(names, func(n string) bool { return slices.Contains(f.classes, n) })
}

// files are the training files of a kind, class by class. Hidden files are left out, such as the ones that macOS writes.
func (f *classFolders) files(kind func(name string) bool) (files []string, err error) {
	for _, c := range f.classes {
		entries, err := os.ReadDir(filepath.Join(f.train, c))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if kind(e.Name()) && !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(f.train, c, e.Name()))
			}
		}
	}
	return files, nil
}

// trained is the number of files that are trained on.
func (f *classFolders) trained(files int) int {
	if f.test == "" {
		files -= (files + heldFiles - 1) / heldFiles
	}
	return files
}
