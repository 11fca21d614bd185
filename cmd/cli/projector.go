package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/tensor"
)

// projectedRows limits the rows written of a table, to its first: in a vocabulary adapted to data, the most frequent words.
const projectedRows = 20_000

// embeddingTable is an embedding table of a checkpoint.
type embeddingTable struct {
	name   string
	values *tensor.Tensor // [rows, width]
	words  []string       // one for each row; nil: unknown
}

// writeProjector writes the embedding tables of the newest checkpoint for TensorBoard's projector, as run.projector requests.
func (j *job) writeProjector() (err error) {
	if !j.cfg.Run.Projector || !j.est.Config().IsChief() {
		return nil
	}
	prefix, err := j.est.LatestCheckpoint()
	if err != nil || prefix == "" {
		return err
	}
	r, err := checkpoint.Open(prefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	list, err := j.writeTables(r)
	if err != nil {
		return err
	}
	if list == "" {
		j.app.log.Warn("run.projector: the model has no embedding table")
		return nil
	}
	return atomicfile.WriteFile(atomicfile.OS{}, filepath.Join(j.est.ModelDir(), "projector_config.pbtxt"), []byte(list))
}

// writeTables writes the tables of embedding columns and layers in turn. It returns projector_config.pbtxt, empty if there are no tables.
func (j *job) writeTables(r *checkpoint.Reader) (string, error) {
	var words map[string][]string
	if plan := planOf(j.fn); plan != nil {
		words = plan.TableWords()
	}
	dir := j.est.ModelDir()
	var list strings.Builder
	n := 0
	for _, info := range r.List() {
		if !isTable(info.Name, words) || len(info.Shape) != 2 || info.DType != tensor.Float32 {
			continue
		}
		if err := atomicfile.MkdirAll(atomicfile.OS{}, filepath.Join(dir, "projector")); err != nil {
			return "", err
		}
		values, err := r.Tensor(info.Name)
		if err != nil {
			return "", err
		}
		entry, err := embeddingTable{info.Name, values, wordsOfTable(info.Name, words)}.write(dir, n)
		if err != nil {
			return "", err
		}
		list.WriteString(entry)
		n++
	}
	return list.String(), nil
}

// isTable reports whether a variable is an embedding table, by its name.
func isTable(name string, words map[string][]string) bool {
	last := name[strings.LastIndexByte(name, '/')+1:]
	return last == "embedding_weights" || last == "embeddings" || wordsOfTable(name, words) != nil
}

// wordsOfTable are the words of a variable whose name is a table's, or ends with it after a scope.
func wordsOfTable(name string, words map[string][]string) []string {
	for table, list := range words {
		if name == table || strings.HasSuffix(name, "/"+table) {
			return list
		}
	}
	return nil
}

var notInFileName = regexp.MustCompile(`[^A-Za-z0-9_.\-]+`)

// write writes the files of a table, and returns its entry of projector_config.pbtxt.
func (t embeddingTable) write(dir string, number int) (entry string, err error) {
	file := fmt.Sprintf("projector/%02d_%s", number, notInFileName.ReplaceAllString(t.name, "_"))
	rows, width := min(t.values.Shape[0], projectedRows), t.values.Shape[1]
	var vectors, words []byte
	values := tensor.Values[float32](t.values)
	for i := range rows {
		for k, x := range values[i*width : (i+1)*width] {
			if k > 0 {
				vectors = append(vectors, '\t')
			}
			vectors = strconv.AppendFloat(vectors, float64(x), 'g', -1, 32)
		}
		vectors = append(vectors, '\n')
	}
	entry = fmt.Sprintf("embeddings {\n  tensor_name: %q\n  tensor_path: %q\n", t.name, file+".tsv")
	if err := atomicfile.WriteFile(atomicfile.OS{}, filepath.Join(dir, file+".tsv"), vectors); err != nil {
		return "", err
	}
	if len(t.words) < rows {
		return entry + "}\n", nil
	}
	for _, w := range t.words[:rows] {
		if w = printable.Text(w); strings.TrimSpace(w) == "" {
			w = strconv.Quote(w) // a blank line would be no row
		}
		words = append(append(words, w...), '\n')
	}
	entry += fmt.Sprintf("  metadata_path: %q\n}\n", file+"_words.tsv")
	return entry, atomicfile.WriteFile(atomicfile.OS{}, filepath.Join(dir, file+"_words.tsv"), words)
}
