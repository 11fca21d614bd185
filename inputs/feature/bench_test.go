package feature

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/internal/testkit"
)

var adultNames = strings.Fields("age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain capital_loss hours_per_week native_country")

// adultNumber reports whether a feature of Adult is numeric.
func adultNumber(name string) bool {
	return slices.Contains(strings.Fields("age fnlwgt education_num capital_gain capital_loss hours_per_week"), name)
}

// adult returns the training set of Adult as one record, without labels.
func adult(t testing.TB) arrow.Record {
	t.Helper()
	f, err := os.Open(testkit.Shared(t, "data/adult/adult.data.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	builders := make([]array.Builder, len(adultNames))
	var fields []arrow.Field
	for i, name := range adultNames {
		var typ arrow.DataType = arrow.BinaryTypes.Binary
		if adultNumber(name) {
			typ = arrow.PrimitiveTypes.Float32
		}
		builders[i] = array.NewBuilder(memory.DefaultAllocator, typ)
		fields = append(fields, arrow.Field{Name: name, Type: typ, Nullable: true})
	}
	rows := 0
	for s := bufio.NewScanner(z); s.Scan(); {
		cells := strings.Split(s.Text(), ", ")
		if len(cells) != 15 {
			continue
		}
		rows++
		for i, b := range builders {
			if fb, ok := b.(*array.Float32Builder); ok {
				v, err := strconv.ParseFloat(cells[i], 32)
				if err != nil {
					t.Fatal(err)
				}
				fb.Append(float32(v))
				continue
			}
			b.(*array.BinaryBuilder).AppendString(cells[i])
		}
	}
	arrays := make([]arrow.Array, len(builders))
	for i, b := range builders {
		arrays[i] = b.NewArray()
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), arrays, int64(rows))
}

// adultColumns hash all strings and cross three pairs, as in testdata/benchmark.py.
func adultColumns() Columns {
	var c Columns
	for _, name := range adultNames {
		if !adultNumber(name) {
			c.Linear = append(c.Linear, &HashBucket{Key: name, Size: 1000})
		}
	}
	ages := &Bucketized{Of: &Numeric{Key: "age"}, Boundaries: []float64{18, 25, 30, 35, 40, 45, 50, 55, 60, 65}}
	c.Linear = append(c.Linear, ages,
		&Crossed{Of: []Column{Key("education"), Key("occupation")}, Size: 10000},
		&Crossed{Of: []Column{Key("native_country"), Key("occupation")}, Size: 10000},
		&Crossed{Of: []Column{ages, Key("education"), Key("occupation")}, Size: 10000})
	return c
}

func BenchmarkAdultHashAndCross(b *testing.B) {
	rec := adult(b)
	plan, err := New(adultColumns())
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int64{128, 4096, rec.NumRows()} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			rows, at := int64(0), int64(0)
			b.ReportAllocs()
			for b.Loop() {
				if at+size > rec.NumRows() {
					at = 0
				}
				piece := rec.NewSlice(at, at+size)
				out, err := plan.Apply(context.Background(), piece)
				if err != nil {
					b.Fatal(err)
				}
				out.Release()
				piece.Release()
				at += size
				rows += size
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkFingerprint64(b *testing.B) {
	for _, n := range []int{8, 24, 50, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := make([]byte, n)
			b.SetBytes(int64(n))
			for b.Loop() {
				Fingerprint64(s)
			}
		})
	}
}

// TestAdult: the columns take the real data.
func TestAdult(t *testing.T) {
	rec := adult(t)
	_, by := results(t, adultColumns(), rec)
	if n := by["education_X_occupation/ids"].Tensor.Len(); n != 32561 {
		t.Errorf("%d ids in %d rows, expected one in each", n, rec.NumRows())
	}
}
