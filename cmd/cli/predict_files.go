package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs"
)

// predictedFile is a file of examples and the file of their predictions; empty: the config's examples, and standard output.
type predictedFile struct {
	input, output string
	ofMany        bool
}

// filesToPredict are the files of a command line: one, or where the output has a star each that the input matches and that has no
// predictions yet. passed is how many have some.
func filesToPredict(input, output string) (list []predictedFile, passed int, err error) {
	name := filepath.Base(output)
	if strings.Contains(filepath.Dir(output), "*") || strings.Count(name, "*") > 1 {
		return nil, 0, fmt.Errorf("--output %s: expected one star, in the name of the file", output)
	}
	if !strings.Contains(name, "*") {
		return []predictedFile{{input: input, output: output}}, 0, nil
	}
	matched, err := filesOf(input)
	if err != nil {
		return nil, 0, fmt.Errorf("--input %s: %w", input, err)
	}
	if len(matched) == 0 {
		return nil, 0, fmt.Errorf("--input %s: no such file: expected the files whose names take the place of the star in --output", input)
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return nil, 0, fmt.Errorf("--output: %w", err)
	}
	list, err = outputsOf(matched, output)
	return list, len(matched) - len(list), err
}

// filesOf are the files that match a name or a glob, which may be a URL.
func filesOf(pattern string) ([]string, error) {
	if inputs.IsURL(pattern) {
		return inputs.Expand(pattern)
	}
	return filepath.Glob(pattern)
}

// outputsOf are the files with their outputs, without those that are there.
func outputsOf(files []string, output string) ([]predictedFile, error) {
	var list []predictedFile
	from := map[string]string{}
	for _, file := range files {
		base := plainName(inputs.BaseName(file))
		own := filepath.Join(filepath.Dir(output), strings.Replace(filepath.Base(output), "*", strings.TrimSuffix(base, filepath.Ext(base)), 1))
		if other, twice := from[own]; twice {
			return nil, fmt.Errorf("--output %s: the predictions of %s and %s would both be %s", output, other, file, own)
		}
		if slices.ContainsFunc(files, func(f string) bool { return sameFile(f, own) }) {
			return nil, fmt.Errorf("--output %s: %s is a file of examples: write to another folder or name", output, own)
		}
		from[own] = file
		if _, err := os.Stat(own); err != nil {
			list = append(list, predictedFile{file, own, true})
		}
	}
	return list, nil
}

// plainName is the name of a file without the extension of what packs it.
func plainName(file string) string {
	for _, ext := range []string{".gz", ".zst", ".bz2"} {
		if name, packed := strings.CutSuffix(file, ext); packed {
			return name
		}
	}
	return file
}

// sameFile reports whether two names are of one file, whichever folder they start from.
func sameFile(a, b string) bool {
	x, err := filepath.Abs(a)
	y, other := filepath.Abs(b)
	return err == nil && other == nil && x == y
}
