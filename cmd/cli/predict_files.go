package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/platform/bucket"
)

// predictedFile is a file of examples and the file of their predictions. Empty names: the config's examples, and standard output.
type predictedFile struct {
	input, output string
	ofMany        bool
}

// filesToPredict are the files of a command line: a single one or, if the output has a star, each file that matches input and has no
// predictions yet. passed counts the files that have some. With folders, a folder such as one of images is a single input.
func (a *app) filesToPredict(ctx context.Context, input, output string, folders bool) (list []predictedFile, passed int, err error) {
	name := inputs.BaseName(output)
	if stars := strings.Count(output, "*"); stars > 1 || stars == 1 && !strings.Contains(name, "*") {
		return nil, 0, fmt.Errorf("--output %s: expected one star, in the name of the file", output)
	} else if stars == 0 {
		return []predictedFile{{input: input, output: output}}, 0, nil
	}
	matched, err := filesOf(input, folders)
	if err != nil {
		return nil, 0, fmt.Errorf("--input %s: %w", input, err)
	}
	there, err := a.outputsThere(ctx, output)
	if err != nil {
		return nil, 0, fmt.Errorf("--output %s: %w", output, err)
	}
	list, err = outputsOf(input, matched, output)
	if err != nil {
		return nil, 0, err
	}
	list = slices.DeleteFunc(list, func(f predictedFile) bool { return there(f.output) })
	return list, len(matched) - len(list), nil
}

// filesOf are the files that a name or a glob stands for; it may be a URL.
func filesOf(pattern string, folders bool) ([]string, error) {
	if folders && inputs.IsURL(pattern) {
		return []string{pattern}, nil
	}
	if folders {
		local, err := bucket.Local(pattern)
		if err != nil {
			return nil, err
		}
		found, err := filepath.Glob(local)
		if err == nil && len(found) == 0 {
			err = errNothingMatches
		}
		return found, err
	}
	found, err := inputs.Expand(pattern)
	if errors.Is(err, fs.ErrNotExist) && !inputs.IsURL(pattern) {
		err = errNothingMatches
	}
	return found, err
}

var errNothingMatches = errors.New("no such file: expected the files whose names take the place of the star in --output")

// outputsOf pairs files with their outputs.
func outputsOf(pattern string, files []string, output string) ([]predictedFile, error) {
	root := fixedFolder(pattern)
	var list []predictedFile
	from, given := map[string]string{}, map[string]bool{}
	for _, file := range files {
		given[wholeName(file)] = true
	}
	for _, file := range files {
		own := outputOf(output, belowFolder(root, file))
		if other, twice := from[own]; twice {
			return nil, fmt.Errorf("--output %s: the predictions of %s and %s would both be %s", output, other, file, own)
		}
		if given[wholeName(own)] {
			return nil, fmt.Errorf("--output %s: %s is a file of examples: write to another folder or name", output, own)
		}
		from[own] = file
		list = append(list, predictedFile{file, own, true})
	}
	return list, nil
}

// fixedFolder is the part of a pattern before its first wildcard, with slashes. For a name without wildcards it is the name itself.
func fixedFolder(pattern string) string {
	name := pathOf(pattern)
	if name == "." {
		return ""
	}
	parts := strings.Split(name, "/")
	if first := slices.IndexFunc(parts, func(p string) bool { return strings.ContainsAny(p, "*?[") }); first >= 0 {
		return strings.Join(parts[:first], "/")
	}
	return name
}

// pathOf is the path of a file or object, cleaned, with slashes.
func pathOf(name string) string {
	if u, err := url.Parse(name); err == nil && strings.Contains(name, "://") {
		return path.Clean(u.Path)
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// belowFolder is what replaces the star: the path of a file below a folder, without its extension.
func belowFolder(root, file string) string {
	name := pathOf(file)
	below, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/")
	if !ok && root != "" || below == "" {
		below = path.Base(name) // the pattern is the file itself, perhaps with wildcards in its name
	}
	below = plainName(below)
	return strings.TrimSuffix(below, path.Ext(below))
}

// outputOf is the output with its star replaced.
func outputOf(output, star string) string {
	if at, err := bucket.ParseAny(output); err == nil && inputs.IsURL(output) {
		return at.Object(strings.Replace(at.Path, "*", star, 1))
	}
	return filepath.FromSlash(strings.Replace(output, "*", star, 1))
}

// outputsThere returns a function that reports whether an output exists. It creates the folder of local outputs.
func (a *app) outputsThere(ctx context.Context, output string) (func(name string) bool, error) {
	if !inputs.IsURL(output) {
		if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
			return nil, err
		}
		return func(name string) bool {
			_, err := os.Stat(name)
			return err == nil
		}, nil
	}
	b, at, err := a.bucketOf(ctx, output)
	if err != nil {
		return nil, err
	}
	before, after, _ := strings.Cut(at.Path, "*")
	keys, err := bucket.Below(ctx, b, before, func(key string) bool { return strings.HasSuffix(key, after) })
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, key := range keys {
		there[at.Object(key)] = true
	}
	return func(name string) bool { return there[name] }, nil
}

// plainName is the name of a file without the extension of a compression.
func plainName(file string) string {
	for _, ext := range []string{".gz", ".zst", ".bz2"} {
		if name, packed := strings.CutSuffix(file, ext); packed {
			return name
		}
	}
	return file
}

// wholeName is the absolute name of a local file.
func wholeName(name string) string {
	whole, err := filepath.Abs(name)
	if err != nil || inputs.IsURL(name) {
		return name
	}
	return whole
}
