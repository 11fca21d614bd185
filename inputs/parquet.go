package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	pq "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/goestimator/goestimator/internal/platform/bucket"
)

// Parquet returns the rows of Parquet files. Only the wanted columns are read.
func Parquet(files []string, o ArrowOptions) (Dataset, error) {
	return openRecords(context.Background(), "parquet", files, o, openParquet)
}

// Rows of a record: more where they are short.
const (
	parquetBatch  = 1024
	parquetMost   = 8 * parquetBatch
	parquetRecord = 1 << 20 // bytes of more
)

// columnsOfObject is how many columns of an object are read at the same time: the blocks that it keeps are as many as two need.
const columnsOfObject = 2

// parquetRows is how many rows a record of a table has.
func parquetRows(t arrow.Table) int64 {
	bytes := int64(0)
	for i := range int(t.NumCols()) {
		for _, chunk := range t.Column(i).Data().Chunks() {
			bytes += dataBytes(chunk.Data(), 0, chunk.Len())
		}
	}
	if bytes == 0 {
		return parquetBatch
	}
	return max(parquetBatch, min(parquetMost, int64(float64(parquetRecord)/float64(bytes)*float64(t.NumRows()))))
}

func openParquet(ctx context.Context, name string, want []string) (*recordFile, error) {
	f, err := openSeekable(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := parquetRecords(f, want, columnsAtOnce(f))
	if err != nil {
		f.Close()
		return nil, notA(ctx, name, "parquet", "a Parquet file", err)
	}
	return r, nil
}

// columnsAtOnce is how many columns of a file are read at the same time.
func columnsAtOnce(f seekable) int {
	workers := runtime.GOMAXPROCS(0)
	if _, ok := f.(*bucket.File); ok {
		return min(workers, columnsOfObject)
	}
	return workers
}

// parquetRecords reads a file, as many columns at the same time as there are workers; closing the result closes f.
func parquetRecords(f seekable, want []string, workers int) (_ *recordFile, err error) {
	defer recoverArrow("parquet", &err)
	mem, err := boundedForFile(f)
	if err != nil {
		return nil, err
	}
	props := parquet.NewReaderProperties(mem)
	props.BufferedStreamEnabled = true // else a column of a row group lies in memory as it is in the file, twice
	r, err := pq.NewParquetReader(f, pq.WithReadProps(props))
	if err != nil {
		return nil, err
	}
	if s := parquetSchema(r); len(s) > 0 {
		if err := checkStream(bytes.NewReader(s), int64(len(s))); err != nil {
			return nil, err
		}
	}
	ar, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: parquetBatch}, mem)
	if err != nil {
		return nil, err
	}
	schema, err := ar.Schema()
	if err != nil {
		return nil, err
	}
	p := &parquetFile{file: r, reader: ar, leaves: parquetLeaves(r, want), pages: pageChecker{f, mem.size, int64(mem.limit)}, workers: workers}
	return &recordFile{schema: schema, next: p.next, jump: p.jump, stop: p.close}, nil
}

// parquetLeaves returns the leaf columns below the wanted fields, all where none are named, and one where the file has none of them: its
// rows count.
func parquetLeaves(r *pq.Reader, want []string) []int {
	var leaves []int
	s := r.MetaData().Schema
	for i := range s.NumColumns() {
		if len(want) == 0 || slices.Contains(want, s.Column(i).ColumnPath()[0]) {
			leaves = append(leaves, i)
		}
	}
	if len(leaves) == 0 && s.NumColumns() > 0 {
		return []int{0}
	}
	return leaves
}

// parquetFile reads a Parquet file row group by row group.
type parquetFile struct {
	file    *pq.Reader
	reader  *pqarrow.FileReader
	leaves  []int
	pages   pageChecker
	workers int                // columns to read at the same time
	group   int                // the first one to read
	table   *array.TableReader // of the row group before that
}

// next returns the next record. A row group is read as a whole, because otherwise
// the library cannot read dictionaries that change within a column.
func (p *parquetFile) next(ctx context.Context) (arrow.Record, error) {
	for {
		if p.table != nil {
			if p.table.Next() {
				return retained(p.table.Record(), nil)
			}
			if err := p.table.Err(); err != nil {
				return nil, err
			}
			p.drop()
		}
		if p.group == p.file.NumRowGroups() || len(p.leaves) == 0 {
			return nil, io.EOF
		}
		table, err := p.read(ctx)
		if err != nil {
			return nil, err
		}
		p.group++
		p.table = array.NewTableReader(table, parquetRows(table))
		table.Release()
	}
}

// read returns the next row group. Its columns are read in goroutines of this package: a panic over damaged bytes in one of the library's, which
// ReadRowGroups starts, would end the process.
func (p *parquetFile) read(ctx context.Context) (arrow.Table, error) {
	indices, err := p.reader.Manifest.GetFieldIndices(p.leaves)
	if err != nil {
		return nil, err
	}
	wanted := make(map[int]bool, len(p.leaves))
	for _, leaf := range p.leaves {
		wanted[leaf] = true
		if err := p.check(leaf); err != nil {
			return nil, err
		}
	}
	columns := make([]arrow.Column, len(indices))
	read := make([]bool, len(indices))
	defer func() {
		for i := range columns {
			if read[i] {
				columns[i].Release()
			}
		}
	}()
	err = severally(len(indices), p.workers, func(i int) error {
		c, err := p.column(ctx, indices[i], wanted)
		if err == nil {
			columns[i], read[i] = *c, true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	fields := make([]arrow.Field, len(columns))
	for i := range columns {
		fields[i] = columns[i].Field()
	}
	return array.NewTable(arrow.NewSchema(fields, nil), columns, -1), nil
}

// column returns a field of the next row group.
func (p *parquetFile) column(ctx context.Context, field int, wanted map[int]bool) (*arrow.Column, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	groups := []int{p.group}
	r, err := p.reader.GetFieldReader(ctx, field, wanted, groups)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	data, err := p.reader.ReadColumn(groups, r)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	if got, rows := int64(data.Len()), p.file.MetaData().RowGroup(p.group).NumRows(); got != rows { // the library drops some errors
		return nil, fmt.Errorf("row group %d, column %q: %d rows can be read, expected %d", p.group, r.Field().Name, got, rows)
	}
	return arrow.NewColumn(*r.Field(), data), nil
}

// check checks the pages of a leaf in the next row group.
func (p *parquetFile) check(leaf int) error {
	c, err := p.file.MetaData().RowGroup(p.group).ColumnChunk(leaf)
	if err != nil {
		return err
	}
	if err := supported(c); err != nil {
		return err
	}
	chunk := pageChunk{start: c.DataPageOffset(), size: c.TotalCompressedSize(), values: c.NumValues(), codec: c.Compression()}
	if at := c.DictionaryPageOffset(); c.HasDictionaryPage() && at > 0 && at < chunk.start {
		chunk.start = at
	}
	if err := p.pages.check(chunk); err != nil {
		return fmt.Errorf("row group %d, column %q: %w", p.group, p.file.MetaData().Schema.Column(leaf).Path(), err)
	}
	return nil
}

// supported fails for codecs and encodings that the library does not have.
func supported(c *metadata.ColumnChunkMetaData) error {
	name := c.PathInSchema().String()
	if _, err := compress.GetCodec(c.Compression()); err != nil {
		return &explained{errors.ErrUnsupported, fmt.Sprintf("column %q of type %s is compressed with %s, which is not read: write the file with zstd, snappy, gzip or brotli", name, c.Type(), c.Compression())}
	}
	for _, e := range c.Encodings() {
		if !slices.Contains(encodings, e) {
			return &explained{errors.ErrUnsupported, fmt.Sprintf("column %q of type %s has the encoding %s, which is not read: write the file with PLAIN, dictionaries or a delta encoding", name, c.Type(), e)}
		}
	}
	return nil
}

// encodings are those that the library reads.
var encodings = []parquet.Encoding{parquet.Encodings.Plain, parquet.Encodings.PlainDict, parquet.Encodings.RLE, parquet.Encodings.RLEDict, parquet.Encodings.BitPacked,
	parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray}

func (p *parquetFile) drop() {
	if p.table != nil {
		p.table.Release()
		p.table = nil
	}
}

// jump passes over the row groups that lie within the first rows.
func (p *parquetFile) jump(rows int64) (int64, error) {
	skipped := int64(0)
	for p.group < p.file.NumRowGroups() {
		n := p.file.MetaData().RowGroup(p.group).NumRows()
		if n < 0 || skipped+n > rows {
			break
		}
		skipped += n
		p.group++
	}
	return skipped, nil
}

func (p *parquetFile) close() error {
	p.drop()
	return p.file.Close()
}
