package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	pq "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
)

// Parquet returns the rows of Parquet files. Only the wanted columns are read.
func Parquet(files []string, o ArrowOptions) (Dataset, error) {
	return openRecords(context.Background(), "parquet", files, o, openParquet)
}

const parquetBatch = 1024

func openParquet(ctx context.Context, name string, want []string) (*recordFile, error) {
	f, err := openSeekable(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := parquetRecords(f, want)
	if err != nil {
		f.Close()
		return nil, notA(ctx, name, "parquet", "a Parquet file", err)
	}
	return r, nil
}

// parquetRecords reads a file; closing the result closes f.
func parquetRecords(f seekable, want []string) (_ *recordFile, err error) {
	defer recoverArrow("parquet", &err)
	mem, err := boundedForFile(f)
	if err != nil {
		return nil, err
	}
	r, err := pq.NewParquetReader(f, pq.WithReadProps(parquet.NewReaderProperties(mem)))
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
	p := &parquetFile{file: r, reader: ar, leaves: parquetLeaves(r, want), pages: pageChecker{f, mem.size, int64(mem.limit)}}
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
	file   *pq.Reader
	reader *pqarrow.FileReader
	leaves []int
	pages  pageChecker
	group  int                // the first one to read
	table  *array.TableReader // of the row group before that
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
		p.table = array.NewTableReader(table, parquetBatch)
		table.Release()
	}
}

// read returns the next row group. It reads column by column in this goroutine: the
// library's ReadRowGroups starts a goroutine, in which a panic over damaged bytes
// would end the process.
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
	var fields []arrow.Field
	var columns []arrow.Column
	defer func() {
		for i := range columns {
			columns[i].Release()
		}
	}()
	groups := []int{p.group}
	for _, i := range indices {
		r, err := p.reader.GetFieldReader(ctx, i, wanted, groups)
		if err != nil {
			return nil, err
		}
		data, err := p.reader.ReadColumn(groups, r)
		if err != nil {
			r.Release()
			return nil, err
		}
		fields = append(fields, *r.Field())
		columns = append(columns, *arrow.NewColumn(fields[len(fields)-1], data))
		data.Release()
		r.Release()
		if got, rows := int64(data.Len()), p.file.MetaData().RowGroup(p.group).NumRows(); got != rows { // the library drops some errors
			return nil, fmt.Errorf("row group %d, column %q: %d rows can be read, expected %d", p.group, fields[len(fields)-1].Name, got, rows)
		}
	}
	return array.NewTable(arrow.NewSchema(fields, nil), columns, -1), nil
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
