"""flight_server.py OUT: a Flight service of pyarrow on a free port of loopback, which it prints. It ends with its standard input.

OUT/want has the rows. They come by path, by command and by ticket; the command's in two endpoints, one of which names another address of
the service. Each call needs the header that OUT's test sends.
"""
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight

import exchange

rows = 1000
numbers = np.random.RandomState(5).randn(rows)
words = [["Ulm", "Bonn", "", "Gr\u00fc\u00df"][i % 4] for i in range(rows)]
vectors = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
ends = np.cumsum([0] + [i % 3 for i in range(rows)]).astype(np.int32)
ids = np.arange(ends[-1], dtype=np.int64)
table = pa.table({
    "id": pa.array(range(rows), pa.int64()),
    "number": numbers,
    "word": pa.array(words).dictionary_encode(),
    "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 3),
    "ids": pa.ListArray.from_arrays(pa.array(ends), pa.array(ids)),
    "flag": pa.array([i % 5 == 0 for i in range(rows)]),
})
exchange.save(os.path.join(sys.argv[1], "want"), {
    "id": np.arange(rows), "number": numbers, "word": np.array(words, object), "vector": vectors, "ids": ids, "ids/offsets": ends,
    "flag": np.arange(rows) % 5 == 0,
})


class Checked(flight.ServerMiddleware):
    pass


class Check(flight.ServerMiddlewareFactory):
    def start_call(self, info, headers):
        if headers.get("authorization") != ["Bearer s3cret"]:
            raise flight.FlightUnauthenticatedError("no token")
        return Checked()


class Houses(flight.FlightServerBase):
    def get_flight_info(self, context, descriptor):
        asked = descriptor.path[0] if descriptor.path else descriptor.command
        if asked not in (b"houses", b"SELECT * FROM houses"):
            raise flight.FlightServerError("no such data set: %r" % asked)
        halves = [flight.FlightEndpoint(b"0:600", []), flight.FlightEndpoint(b"600:1000", ["grpc://127.0.0.1:%d" % self.port])]
        whole = [flight.FlightEndpoint(b"0:1000", [])]
        return flight.FlightInfo(table.schema, descriptor, whole if descriptor.path else halves, rows, -1)

    def do_get(self, context, ticket):
        if ticket.ticket == b"broken":
            return flight.RecordBatchStream(pa.RecordBatchReader.from_batches(table.schema, self.broken()))
        first, last = ticket.ticket.split(b":")
        part = table.slice(int(first), int(last) - int(first))
        # GeneratorStream would leave out the dictionaries.
        return flight.RecordBatchStream(pa.RecordBatchReader.from_batches(table.schema, iter(part.to_batches(max_chunksize=77))))

    def broken(self):
        yield table.to_batches(max_chunksize=77)[0]
        raise flight.FlightServerError("the disk is gone")


server = Houses("grpc://127.0.0.1:0", middleware={"check": Check()})
print(server.port, flush=True)
sys.stdin.read()
server.shutdown()
