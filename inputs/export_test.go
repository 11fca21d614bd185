package inputs

import (
	"database/sql"
	"database/sql/driver"
)

// HousesDB returns a database with one table, for the examples.
func HousesDB() *sql.DB {
	return sql.OpenDB(tableConnector{&table{columns: []string{"rooms", "price"}, types: []string{"INTEGER", "DOUBLE"},
		rows: [][]driver.Value{{int64(3), 210.0}, {int64(5), 480.0}, {int64(4), 260.0}}}})
}
