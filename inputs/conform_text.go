package inputs

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/tensor"
)

// asText reports whether a tensor can hold values of a type only as text: dates, times and decimals. Such columns are read if they are
// declared with a dtype, as texts like 2024-12-31, 15:04:05, 2024-12-31 15:04:05.5+0100 (Z if the type has no zone), -12.50.
func asText(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DECIMAL128, arrow.DECIMAL256:
		return true
	}
	return false
}

// fieldOfTexts returns the field of a column as text, if the column is declared with a dtype or a vocabulary.
func fieldOfTexts(f arrow.Field, s ColumnSpec) (arrow.Field, error) {
	if !asText(f.Type) {
		return f, nil
	}
	if s.DType == "" && len(s.Vocabulary) == 0 {
		return f, fmt.Errorf("column %q: Arrow type %s has no tensor form: leave the column out, or declare it with dtype: %s", f.Name, f.Type, textDType(f.Type))
	}
	if t, ok := f.Type.(*arrow.TimestampType); ok {
		if _, err := t.GetZone(); err != nil {
			return f, fmt.Errorf("column %q: time zone %q of its type: %w: leave the column out", f.Name, t.TimeZone, err)
		}
	}
	f.Type = arrow.BinaryTypes.String
	return f, nil
}

// textDType returns the dtype that suits a type that is read as text.
func textDType(t arrow.DataType) tensor.DType {
	if arrow.IsDecimal(t.ID()) {
		return tensor.Float64
	}
	return tensor.String
}

// decimalText returns a decimal with all digits of its scale; false: the array has no decimals.
func decimalText(arr arrow.Array, i int) (string, bool) {
	switch a := arr.(type) {
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale), true
	case *array.Decimal256:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal256Type).Scale), true
	}
	return "", false
}
