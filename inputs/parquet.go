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

	columns "github.com/goestimator/goestimator/internal/format/parquet"
	"github.com/goestimator/goestimator/internal/platform/bucket"
)

// Parquet returns the rows of Parquet files. Only the wanted columns are read.
func Parquet(files []string, o ArrowOptions) (Dataset, error) {
	return openRecords(context.Background(), "parquet", files, o, openParquet)
}

// Rows per record: more if rows are short.
const (
	parquetBatch  = 1024
	parquetMost   = 8 * parquetBatch
	parquetRecord = 1 << 20 // bytes per record above parquetBatch rows
)

// columnsOfObject is the number of columns of an object read in parallel: an object caches enough blocks for two.
const columnsOfObject = 2

// parquetRows returns the number of rows per record of a table.
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

// columnsAtOnce returns the number of columns of a file to read in parallel.
func columnsAtOnce(f seekable) int {
	workers := runtime.GOMAXPROCS(0)
	if _, ok := f.(*bucket.File); ok {
		return min(workers, columnsOfObject)
	}
	return workers
}

// parquetRecords reads a file, with workers columns in parallel. Closing the result closes f.
func parquetRecords(f seekable, want []string, workers int) (_ *recordFile, err error) {
	defer recoverArrow("parquet", &err)
	mem, err := boundedForFile(f)
	if err != nil {
		return nil, err
	}
	if err := checkParquetFooter(f, mem.size); err != nil {
		return nil, err
	}
	props := parquet.NewReaderProperties(mem)
	props.BufferedStreamEnabled = true // otherwise the stored bytes of each column chunk are in memory twice
	r, err := pq.NewParquetReader(f, pq.WithReadProps(props))
	if err != nil {
		return nil, err
	}
	if s := columns.StoredSchema(r.MetaData().KeyValueMetadata()); len(s) > 0 {
		if err := checkStream(bytes.NewReader(s), int64(len(s))); err != nil {
			return nil, err
		}
	}
	cr, err := columns.NewReader(r, mem)
	if err != nil {
		return nil, err
	}
	p := &parquetFile{file: r, reader: cr, fields: parquetFields(cr.Schema(), want), pages: pageChecker{f, mem.size, int64(mem.limit)}, held: mem.held, workers: workers}
	return &recordFile{schema: cr.Schema(), next: p.next, jump: p.jump, stop: p.close}, nil
}

// parquetFields returns the wanted fields, or all if want is empty. If the file has none of them, it returns one, to count rows.
func parquetFields(s *arrow.Schema, want []string) []int {
	var fields []int
	for i, f := range s.Fields() {
		if len(want) == 0 || slices.Contains(want, f.Name) {
			fields = append(fields, i)
		}
	}
	if len(fields) == 0 && s.NumFields() > 0 {
		return []int{0}
	}
	return fields
}

// parquetFile reads a Parquet file row group by row group.
type parquetFile struct {
	file    *pq.Reader
	reader  *columns.Reader
	fields  []int
	pages   pageChecker
	held    *held
	workers int                // columns to read in parallel
	group   int                // next row group to read
	table   *array.TableReader // row group that is being delivered
}

// next returns the next record. It reads a whole row group at once, so that each column
// has one dictionary.
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
		if p.group == p.file.NumRowGroups() || len(p.fields) == 0 {
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

// read returns the next row group. It reads columns in this package's own goroutines, which turn a panic over damaged bytes into an error.
func (p *parquetFile) read(ctx context.Context) (arrow.Table, error) {
	for _, field := range p.fields {
		for _, leaf := range p.reader.Leaves(field) {
			if err := p.check(leaf); err != nil {
				return nil, err
			}
		}
	}
	p.held.begin()
	read := make([]arrow.Array, len(p.fields))
	defer func() {
		for _, a := range read {
			if a != nil {
				a.Release()
			}
		}
	}()
	err := severally(len(read), p.workers, func(i int) (err error) {
		if err = ctx.Err(); err == nil {
			read[i], err = p.reader.Column(p.group, p.fields[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	fields := make([]arrow.Field, len(read))
	for i := range read {
		fields[i] = p.reader.Schema().Field(p.fields[i])
	}
	rec := array.NewRecord(arrow.NewSchema(fields, nil), read, p.file.MetaData().RowGroup(p.group).NumRows())
	defer rec.Release()
	return array.NewTableFromRecords(rec.Schema(), []arrow.Record{rec}), nil
}

// check checks the pages of a leaf column in the next row group.
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

// supported fails for codecs and encodings that the library cannot read.
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

// encodings are the encodings that the library can read.
var encodings = []parquet.Encoding{parquet.Encodings.Plain, parquet.Encodings.PlainDict, parquet.Encodings.RLE, parquet.Encodings.RLEDict, parquet.Encodings.BitPacked,
	parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray}

func (p *parquetFile) drop() {
	if p.table != nil {
		p.table.Release()
		p.table = nil
	}
}

// jump skips the row groups that lie entirely within the next rows rows.
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
