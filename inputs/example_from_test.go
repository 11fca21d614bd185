package inputs_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"iter"
	"log"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/tensor"
)

// House is a row of the examples.
type House struct {
	Rooms [2]float32 `json:"rooms"`
	Town  string     `json:"town"`
	Price float64    `json:"price" input:"price,label"`
	Note  string     `json:"-"`
}

var houses = []House{
	{Rooms: [2]float32{3, 1}, Town: "Ulm", Price: 210},
	{Rooms: [2]float32{5, 2}, Town: "Bern", Price: 480},
	{Rooms: [2]float32{4, 1}, Town: "Ulm", Price: 260},
}

// printColumns prints each column of each batch.
func printColumns(ds inputs.Dataset) {
	ctx := context.Background()
	it, err := ds.Iterate(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer it.Close()
	for {
		rec, err := it.Next(ctx)
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		columns, err := inputs.Tensors(rec, ds.Schema())
		if err != nil {
			log.Fatal(err)
		}
		for i, c := range columns {
			if i > 0 {
				fmt.Print(" ")
			}
			switch c.Tensor.DType {
			case tensor.String:
				fmt.Printf("%s %s", c.Name, c.Tensor.Strings)
			case tensor.Float32:
				fmt.Print(c.Name, " ", tensor.Values[float32](c.Tensor))
			case tensor.Float64:
				fmt.Print(c.Name, " ", tensor.Values[float64](c.Tensor))
			case tensor.Int64:
				fmt.Print(c.Name, " ", tensor.Values[int64](c.Tensor))
			}
		}
		fmt.Println()
		rec.Release()
	}
}

// Structs in memory are a data set with random access.
func ExampleFromStructs() {
	ds, err := inputs.FromStructs(houses, inputs.ArrowOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ds.Schema())
	printColumns(inputs.Pipe(ds, inputs.Batch(2, false)))
	// Output:
	// rooms float32[2] feature, town string feature, price float64 label
	// rooms [3 1 5 2] town [Ulm Bern] price [210 480]
	// rooms [4 1] town [Ulm] price [260]
}

// A function yields the rows of each pass.
func ExampleFromFunc() {
	rows := func(context.Context) iter.Seq2[House, error] {
		return func(yield func(House, error) bool) {
			for _, h := range houses {
				if !yield(h, nil) {
					return
				}
			}
		}
	}
	ds, err := inputs.FromFunc(rows, inputs.ArrowOptions{Columns: []inputs.ColumnSpec{
		{Name: "town", Vocabulary: []string{"Bern", "Ulm"}}, {Name: "price", Role: inputs.Label}}})
	if err != nil {
		log.Fatal(err)
	}
	printColumns(inputs.Pipe(ds, inputs.Repeat(2), inputs.Batch(4, false), inputs.Prefetch(2)))
	// Output:
	// town [1 0 1 1] price [210 480 260 210]
	// town [0 1] price [480 260]
}

// A channel is read while another goroutine fills it.
func ExampleFromChannel() {
	ch := make(chan House)
	go func() {
		defer close(ch)
		for _, h := range houses {
			ch <- h
		}
	}()
	ds, err := inputs.FromChannel(ch, inputs.StreamOptions{Resume: inputs.ResumeRestart})
	if err != nil {
		log.Fatal(err)
	}
	printColumns(inputs.Pipe(ds, inputs.Batch(2, true)))
	// Output:
	// rooms [3 1 5 2] town [Ulm Bern] price [210 480]
}

// The result of a database/sql query is read once. Usually db comes from sql.Open, with an imported driver.
func ExampleFromRows() {
	train := func(ctx context.Context, db *sql.DB) (inputs.Dataset, error) {
		rows, err := db.QueryContext(ctx, "SELECT rooms, price FROM houses")
		if err != nil {
			return nil, err
		}
		ds, err := inputs.FromRows(rows, inputs.StreamOptions{ArrowOptions: inputs.ArrowOptions{
			Columns: []inputs.ColumnSpec{{Name: "rooms"}, {Name: "price", Role: inputs.Label}}}})
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(32, false)), nil
	}
	db := inputs.HousesDB()
	defer db.Close()
	ds, err := train(context.Background(), db)
	if err != nil {
		log.Fatal(err)
	}
	printColumns(ds)
	// Output:
	// rooms [3 5 4] price [210 480 260]
}

// A query runs again in each pass, so the rows can be repeated, shuffled and resumed.
func ExampleFromQuery() {
	ctx := context.Background()
	db := inputs.HousesDB()
	defer db.Close()
	ds, err := inputs.FromQuery(ctx, db, "SELECT rooms, price FROM houses ORDER BY price", nil,
		inputs.ArrowOptions{Columns: []inputs.ColumnSpec{{Name: "rooms", DType: "float32"}, {Name: "price", Role: inputs.Label}}})
	if err != nil {
		log.Fatal(err)
	}
	printColumns(inputs.Pipe(ds, inputs.Repeat(2), inputs.Batch(6, false)))
	// Output:
	// rooms [3 5 4 3 5 4] price [210 480 260 210 480 260]
}
