package textvalue

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestNumbers: all forms of numbers are read, and nothing else is.
func TestNumbers(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		text, decimal string
		want          float64
	}{
		{"$1,234.50", "", 1234.5}, {"12 kg", "", 12}, {"3.5%", "", 3.5}, {"3.5 %", "", 3.5}, {"-$5", "", -5}, {"$-5", "", -5}, {"USD 1 234 567", "", 1234567},
		{"1'000'000.25", "", 1000000.25}, {"1e30", "", 1e30}, {"-1.5e-3 m", "", -1.5e-3}, {".5", "", 0.5}, {"7.", "", 7}, {"+8", "", 8}, {" 9 ", "", 9},
		{"30 m2", "", 30}, {"5 sq ft", "", 5}, {"80 km/h", "", 80}, {"€1.234,50", ",", 1234.5}, {"1,5 kg", ",", 1.5}, {"1.234.567", ",", 1234567}, {"1\u00a0234", "", 1234},
		{"1.234,50", "", nan}, {"", "", nan}, {"abc", "", nan}, {"10-20", "", nan}, {"1.2.3", "", nan}, {"12:30", "", nan}, {"1/2", "", nan}, {"--5", "", nan},
		{"-$-5", "", nan}, {"5'11\"", "", nan}, {"2024-01-02", "", nan}, {"12,34", "", nan}, {"1e999", "", math.Inf(1)},
		// Signs of negative numbers, ranges, calculations and lists.
		{"\u22125", "", -5}, {"\u20135", "", -5}, {"\uff0d5", "", -5}, {"\ufe635", "", -5}, {"\u22125 €", "", -5}, {"$\u2212 5", "", nan}, {"$\u22125", "", -5}, {"\u2212$1,234.5", "", -1234.5},
		{"\u20145", "", nan}, {"1\u20133", "", nan}, {"1 \u2013 3", "", nan}, {"1\u22122", "", nan}, {"10^2", "", nan}, {"5*2", "", nan}, {"5×2", "", nan}, {"5x2", "", nan}, {"1;2", "", nan},
		{"1|2", "", nan}, {"3=3", "", nan}, {"1<2", "", nan}, {"1~2", "", nan}, {"2e\u20133", "", nan}, {"5a2", "", nan}, {"5 m^2", "", 5}, {"5 ft2", "", 5}, {"5m3", "", 5}, {"5 m2 net", "", 5},
		{"5\u00a0kg", "", 5}, {"5\u00a0\u2013\u00a03", "", nan}, {"\xff12", "", nan}, {"12\xff", "", nan}, {"12 \ufffd", "", 12},
	} {
		got := Reading{Part: Number, Decimal: c.decimal}.Parse([]byte(c.text))
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%q: got %v, expected %v", c.text, got, c.want)
		}
	}
}

// TestConverted: numbers in several units are converted into one; unknown units give NaN.
func TestConverted(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		want       float64
	}{
		{"1.2K", "one", 1200}, {"€110.5M", "one", 110.5e6}, {"-2 thousand", "one", -2000}, {"3 Mio.", "one", 3e6}, {"900", "one", 900}, {"4 bn", "one", 4e9}, {"4 kg", "one", math.NaN()},
		{"900 g", "kg", 0.9}, {"2 KG", "kg", 2}, {"2 lbs.", "kg", 2 * 0.45359237}, {"2 kg net", "kg", math.NaN()}, {"5 inches", "m", 5 * 0.0254}, {"2.5 km", "m", 2500},
		{"3 weeks", "day", 21}, {"1 year", "day", 365.25}, {"36 hours", "day", 1.5}, {"1 TB", "MB", 1 << 20}, {"512 kB", "MB", 0.5}, {"2.5GHz", "MHz", 2500}, {"33 cl", "l", 33 * 1e-2}, {"soon", "day", math.NaN()},
	} {
		r := Reading{Part: Number, Unit: c.unit}
		if got := r.Parse([]byte(c.text)); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%q in %s: got %v, expected %v", c.text, c.unit, got, c.want)
		}
	}
}

// TestCommonUnit: units of one kind have a common one, ambiguous ones have none.
func TestCommonUnit(t *testing.T) {
	for _, c := range []struct {
		units []string
		want  string
	}{
		{[]string{"kg", "g"}, "kg"}, {[]string{"k", "M"}, "one"}, {[]string{"k", "m", ""}, "one"}, {[]string{"km", "m"}, "m"}, {[]string{"day", "week"}, "day"}, {[]string{"mb", "gb", "tb"}, "MB"},
		{[]string{"m"}, ""}, {[]string{"m", "M"}, ""}, {[]string{"m", "t"}, ""}, {[]string{"kg", "cm"}, ""}, {[]string{"%"}, ""}, {nil, ""},
	} {
		if got, ok := CommonUnit(c.units); got != c.want || ok != (c.want != "") {
			t.Errorf("%q: got %q, %v, expected %q", c.units, got, ok, c.want)
		}
	}
}

// TestScalesApart: no unit has two scales, since exports try the patterns in another order.
func TestScalesApart(t *testing.T) {
	for _, s := range strings.Fields("k thousand m mn mio mil mln million b bn bln t tn trillions kg kilo kilos g gr mg ton tonne lb lbs pounds oz metre meters km kms cm mm in inch inches ft foot yd mi miles l litres ml cl dl hl d days h hr min mins minute s sec w wk mo mos month y yrs mb mib kb gib tb mhz khz ghz hz") {
		for unit, res := range scaleREs {
			n := 0
			for _, re := range res {
				if re.MatchString(s) {
					n++
				}
			}
			if n > 1 {
				t.Errorf("%q has %d scales in %s", s, n, unit)
			}
		}
	}
}

// TestUnitsOfBytes: text that is not UTF-8 has no units.
func TestUnitsOfBytes(t *testing.T) {
	if b, a, ok := Units("\xff12", ""); ok {
		t.Errorf("got %q and %q", b, a)
	}
}

// TestDates: parts of dates in all orders.
func TestDates(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		text string
		r    Reading
		want float64
	}{
		{"2024-02-29", Reading{Part: Year}, 2024}, {"2024-02-29", Reading{Part: Month}, 2}, {"2024/2/29", Reading{Part: Day}, 29}, {"2024-02", Reading{Part: Day}, 1},
		{"31.12.24", Reading{Part: Year, Order: DMY}, 2024}, {"31/12/1999", Reading{Part: Month, Order: DMY}, 12}, {"12/31/99", Reading{Part: Year, Order: MDY}, 1999},
		{"12/31/2020 3:45 PM", Reading{Part: Hour, Order: MDY}, 15.75}, {"12/31/2020 12:00 am", Reading{Part: Hour, Order: MDY}, 0},
		{"2024-01-01T23:30:00Z", Reading{Part: Hour}, 23.5}, {"2024-01-01 05:00:00+02:00", Reading{Part: Hour}, 5}, {"15:04", Reading{Part: Hour}, 15 + 4./60},
		{"2024-01-01", Reading{Part: Hour}, nan}, {"15:04", Reading{Part: Year}, nan}, {"2024-13-01", Reading{Part: Month}, nan}, {"31/12/2020", Reading{Part: Month, Order: MDY}, nan},
		{"", Reading{Part: Days}, nan}, {"soon", Reading{Part: Days}, nan}, {"23:59", Reading{Part: Hour}, 23 + 59./60}, {"24:59", Reading{Part: Hour}, nan}, {"2024-01-01 24:00", Reading{Part: Hour}, 24}, {"24:00:00", Reading{Part: Hour}, 24}, {"\xff2024-01-01", Reading{Part: Days}, nan},
		{"12 Mar 2021", Reading{Part: Days, Order: DMY}, 18698}, {"March 3, 2021", Reading{Part: Month, Order: MDY}, 3}, {"12MAR21", Reading{Part: Year, Order: DMY}, 2021}, {"Fri, 3rd of September 1999", Reading{Part: Month, Order: DMY}, 9},
		{"Dec-2015", Reading{Part: Month, Order: MDY}, 12}, {"Dec-2015", Reading{Part: Day, Order: MDY}, 1}, {"2021-Mar-12 10:30", Reading{Part: Day}, 12}, {"12-Mar-21 3:05 PM", Reading{Part: Hour, Order: DMY}, 15 + 5./60}, {"sept. 1st, 2020", Reading{Part: Month, Order: MDY}, 9},
		{"12 Mar 2021", Reading{Part: Days, Order: MDY}, nan}, {"12 Max 2021", Reading{Part: Days, Order: DMY}, nan}, {"Mar", Reading{Part: Month, Order: MDY}, nan}, {"32 May 2021", Reading{Part: Day, Order: DMY}, nan}, {"12 Mars 2021", Reading{Part: Day, Order: DMY}, nan},
		// A day beyond the end of its month counts into the next.
		{"2023-02-30", Reading{Part: Days}, 19418}, {"2023-03-02", Reading{Part: Days}, 19418},
	} {
		got := c.r.Parse([]byte(c.text))
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s of %q: got %v, expected %v", c.r, c.text, got, c.want)
		}
	}
}

// TestMonthNames: short and long names of all months, in lower and upper case.
func TestMonthNames(t *testing.T) {
	for m := time.January; m <= time.December; m++ {
		for _, name := range []string{m.String(), m.String()[:3], strings.ToUpper(m.String()), strings.ToLower(m.String()[:3])} {
			if got := (Reading{Part: Month, Order: DMY}).Parse([]byte("7 " + name + " 2020")); got != float64(m) {
				t.Errorf("%s: got %v, expected %d", name, got, m)
			}
		}
	}
}

// TestDays: days and weekdays agree with package time, from 1600 to 2400.
func TestDays(t *testing.T) {
	at := time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)
	for at.Year() < 2400 {
		text := []byte(at.Format(time.DateOnly))
		if got, want := (Reading{Part: Days}).Parse(text), float64(at.Unix()/86400); got != want {
			t.Fatalf("%s: day %v, expected %v", text, got, want)
		}
		if got, want := (Reading{Part: Weekday}).Parse(text), float64(at.Weekday()); got != want {
			t.Fatalf("%s: weekday %v, expected %v", text, got, want)
		}
		at = at.AddDate(0, 0, 17)
	}
}

// TestCheck: invalid readings are refused.
func TestCheck(t *testing.T) {
	for _, r := range []Reading{{}, {Part: "minute"}, {Part: Number, Order: DMY}, {Part: Days, Decimal: ","}, {Part: Days, Order: "ydm"}, {Part: Number, Decimal: ";"}, {Part: Number, Unit: "stone"}, {Part: Days, Unit: "kg"}} {
		if r.Check() == nil {
			t.Errorf("%+v is taken", r)
		}
	}
	if err := (Reading{Part: Hour, Order: MDY}).Check(); err != nil {
		t.Error(err)
	}
}

// TestUnits: the text around the digits.
func TestUnits(t *testing.T) {
	for text, want := range map[string][2]string{"$1,234.50": {"$", ""}, "12 kg": {"", "kg"}, "3.5%": {"", "%"}, "-€ 5 per hour": {"€", "per hour"}, "7": {"", ""}, "5\u00a0kg": {"", "kg"},
		"\u2212$5": {"$", ""}, "5 sq ft ": {"", "sq ft"}} {
		if b, a, ok := Units(text, ""); !ok || b != want[0] || a != want[1] {
			t.Errorf("%q: got %q and %q, %v, expected %q", text, b, a, ok, want)
		}
	}
}
