package keras

import (
	"io"
	"regexp"
	"strings"

	"github.com/goestimator/goestimator/internal/format/hdf5"
	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// modelWeights is the group of weights in the file of a whole model.
const modelWeights = "model_weights/"

// output matches the output number at the end of a variable's name.
var output = regexp.MustCompile(`:\d+$`)

// ReadH5 lists the datasets of an HDF5 file of size bytes. A dataset in a layer's group, such as "Conv1/Conv1/kernel:0", gets the
// variable's name, unless two have the same; others keep their paths.
func ReadH5(r io.ReaderAt, size int64) ([]tensorfile.Entry, error) {
	list, err := hdf5.Read(r, size)
	if err != nil {
		return nil, err
	}
	return rename(list, variable), nil
}

// variable returns the name of the variable at a path, "" if the path gives none.
func variable(path string) string {
	name, ok := strings.CutPrefix(path, modelWeights)
	cut := output.ReplaceAllString(name, "")
	_, inner, below := strings.Cut(cut, "/")
	if !below || cut == name || !ok && !strings.Contains(inner, "/") {
		return ""
	}
	return inner
}

// rename renames entries if their new names are unique.
func rename(list []tensorfile.Entry, of func(path string) string) []tensorfile.Entry {
	count := map[string]int{}
	for _, e := range list {
		count[e.Name]++
		count[of(e.Name)]++
	}
	for i, e := range list {
		if name := of(e.Name); name != "" && count[name] == 1 {
			list[i].Name = name
		}
	}
	return list
}
