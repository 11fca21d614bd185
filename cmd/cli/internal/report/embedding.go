package report

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"gonum.org/v1/gonum/mat"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Embedding is a table of vectors, projected onto its first two principal components.
type Embedding struct {
	Table     string     `json:"table"`
	Rows      int        `json:"rows"`      // number of rows drawn
	Width     int        `json:"width"`     // length of a vector
	Explained [2]float64 `json:"explained"` // share of the variance along each component
	words     []string   // one for each row; nil: unknown
	points    [][2]float64
}

// Limits on the part of a table that is read and drawn.
const (
	mostVectors  = 1000 // the first rows: in a vocabulary adapted to data, the most frequent words
	widestVector = 1024
)

// Entries of projector_config.pbtxt, as run.projector writes them.
var projectorEntry = regexp.MustCompile(`tensor_name: ("(?:[^"\\]|\\.)*")\s*tensor_path: ("(?:[^"\\]|\\.)*")\s*(?:metadata_path: ("(?:[^"\\]|\\.)*"))?`)

// readEmbeddings reads the tables that run.projector wrote to a folder; nil if there are none.
func readEmbeddings(dir string) ([]Embedding, error) {
	list, err := atomicfile.ReadFile(atomicfile.OS{}, filepath.Join(dir, "projector_config.pbtxt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Embedding
	var wrong error // errors of some tables; the others are drawn
	for _, entry := range projectorEntry.FindAllStringSubmatch(string(list), -1) {
		e, err := readEmbedding(dir, unquoted(entry[1]), unquoted(entry[2]), unquoted(entry[3]))
		if err != nil {
			wrong = errors.Join(wrong, err)
		} else if e != nil {
			out = append(out, *e)
		}
	}
	return out, wrong
}

func unquoted(s string) string {
	plain, err := strconv.Unquote(s)
	if err != nil {
		return ""
	}
	return plain
}

// readEmbedding reads a table and projects it; nil if it has fewer than three vectors, fewer than two columns or too many columns.
func readEmbedding(dir, table, vectors, words string) (*Embedding, error) {
	if !filepath.IsLocal(vectors) || words != "" && !filepath.IsLocal(words) {
		return nil, fmt.Errorf("projector_config.pbtxt: %s: expected files below model_dir, got %q and %q", table, vectors, words)
	}
	rows, err := readVectors(filepath.Join(dir, vectors))
	if err != nil || len(rows) < 3 || len(rows[0]) < 2 {
		return nil, err
	}
	e := &Embedding{Table: table, Rows: len(rows), Width: len(rows[0])}
	if words != "" {
		if e.words, err = firstLines(filepath.Join(dir, words), len(rows)); err != nil {
			return nil, err
		}
	}
	return e, e.project(rows)
}

// readVectors reads the first rows of a table of numbers separated by tabs; nil if they are too wide.
func readVectors(path string) ([][]float64, error) {
	lines, err := firstLines(path, mostVectors)
	if err != nil {
		return nil, err
	}
	if len(lines) > 0 && strings.Count(lines[0], "\t") >= widestVector {
		return nil, nil
	}
	rows := make([][]float64, len(lines))
	for i, line := range lines {
		if n, want := strings.Count(line, "\t"), strings.Count(lines[0], "\t"); n != want {
			return nil, fmt.Errorf("%s:%d: %d numbers, expected %d as in the first line", path, i+1, n+1, want+1)
		}
		for _, cell := range strings.Split(line, "\t") {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%s:%d: %q is no finite number", path, i+1, cell)
			}
			rows[i] = append(rows[i], v)
		}
	}
	return rows, nil
}

// firstLines returns up to n lines of a file.
func firstLines(path string, n int) (lines []string, err error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for len(lines) < n && in.Scan() {
		lines = append(lines, string(bytes.TrimRight(in.Bytes(), "\r")))
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return lines, nil
}

// project finds the two directions along which the rows vary most, and the coordinates of the rows. The sign of a direction
// makes its component of greatest magnitude positive, so that pages do not differ.
func (e *Embedding) project(rows [][]float64) error {
	n, width := len(rows), e.Width
	centred := mat.NewDense(n, width, nil)
	for k := range width {
		mean := 0.0
		for _, row := range rows {
			mean += row[k] / float64(n)
		}
		for i, row := range rows {
			centred.Set(i, k, row[k]-mean)
		}
	}
	var covariance mat.SymDense
	covariance.SymOuterK(1/float64(n), centred.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&covariance, true) {
		return fmt.Errorf("embedding %s: its principal components were not found", e.Table)
	}
	variances, total := eigen.Values(nil), 0.0 // in ascending order
	for _, v := range variances {
		total += max(v, 0)
	}
	if math.IsNaN(total) || math.IsInf(total, 0) {
		return fmt.Errorf("embedding %s: its numbers are too large to be compared", e.Table)
	}
	var directions mat.Dense
	eigen.VectorsTo(&directions)
	e.points = make([][2]float64, n)
	for axis := range 2 {
		at := width - 1 - axis
		if total > 0 {
			e.Explained[axis] = max(variances[at], 0) / total
		}
		greatest := 0.0
		for k := range width {
			if v := directions.At(k, at); math.Abs(v) > math.Abs(greatest) {
				greatest = v
			}
		}
		for i := range n {
			sum := 0.0
			for k := range width {
				sum += centred.At(i, k) * directions.At(k, at)
			}
			e.points[i][axis] = math.Copysign(1, greatest) * sum
		}
	}
	return nil
}

// embeddingSection draws the tables.
func (r *Run) embeddingSection() ([]section, error) {
	if len(r.Embeddings) == 0 {
		return nil, nil
	}
	s := section{Title: "Embeddings", Notes: []string{"Each point is a row of a table, on the two directions along which the rows differ most. Points that are close have alike vectors, as far as the plane shows it. TensorBoard's projector has all directions."}}
	var rows [][]string
	for i, e := range r.Embeddings {
		c, err := e.draw(fmt.Sprintf("embedding%d", i))
		if err != nil {
			return nil, err
		}
		s.Charts = append(s.Charts, c)
		rows = append(rows, []string{e.Table, strconv.Itoa(e.Rows), strconv.Itoa(e.Width), percent(e.Explained[0]), percent(e.Explained[1])})
	}
	s.Tables = []table{{Title: "Share of the variance that the plane shows", Left: 1, Head: []string{"table", "rows drawn", "width", "first", "second"}, Rows: rows}}
	return []section{s}, nil
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// draw draws a table.
func (e Embedding) draw(id string) (chart, error) {
	axis := func(n int) string { return fmt.Sprintf("component %d (%s)", n+1, percent(e.Explained[n])) }
	s := charts.NewScatter()
	s.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithTitleOpts(opts.Title{Title: e.title()}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item", Formatter: "{b}"}),
		charts.WithXAxisOpts(opts.XAxis{Type: "value", Name: axis(0), NameLocation: "middle", NameGap: 28, Scale: opts.Bool(true)}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", Name: axis(1), NameLocation: "middle", NameGap: 52, Scale: opts.Bool(true)}),
		charts.WithGridOpts(opts.Grid{Left: "75", Right: "30", Top: "50", Bottom: "50"}),
	)
	var data []opts.ScatterData
	for i, p := range e.points {
		name := fmt.Sprintf("row %d", i)
		if i < len(e.words) {
			name = e.words[i]
		}
		data = append(data, opts.ScatterData{Name: name, Value: p, SymbolSize: 6})
	}
	style := []charts.SeriesOpts{charts.WithItemStyleOpts(opts.ItemStyle{Opacity: opts.Float(0.6)})}
	if len(e.words) > 0 && len(e.points) <= mostLabelled {
		style = append(style, charts.WithLabelOpts(opts.Label{Show: opts.Bool(true), Position: "right", Formatter: "{b}"}))
	}
	s.AddSeries(e.Table, data, style...)
	s.Validate()
	return marshal(id, e.Table, s.JSON())
}

// title is the part of a table's name that distinguishes it, and fits above a chart: the column or the layer.
func (e Embedding) title() string {
	parts := strings.Split(e.Table, "/")
	return parts[max(len(parts)-2, 0)]
}

// mostLabelled is the largest number of points whose words are always shown. In larger tables, words appear under the mouse pointer.
const mostLabelled = 60
