import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listeningPort } from '../limits/listening-port.ts';

type Value = string | number | boolean | string[];

/** A span as a collector reads it. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** 1 internal, 2 server, 3 client, 5 consumer. */
  kind: number;
  attributes: Record<string, Value>;
  links: { traceId: string; spanId: string }[];
  isFailed: boolean;
}

export interface OtlpReceiver {
  url: string;
  /** The names of metrics that came. */
  metrics: Set<string>;
  spans: ReceivedSpan[];
  /** The attributes of the services that sent. */
  services: Record<string, Value>[];
  headers: Record<string, unknown>[];
  close(): void;
}

/** The parts of OTLP's JSON (opentelemetry-proto, trace.proto and common.proto) that are read. */
interface AnyValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: number | string;
  doubleValue?: number;
  arrayValue?: { values: AnyValue[] };
}
type KeyValues = { key: string; value: AnyValue }[];
interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: KeyValues;
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
}
interface WireBody {
  resourceSpans?: { resource: { attributes: KeyValues }; scopeSpans: { spans: WireSpan[] }[] }[];
  resourceMetrics?: { scopeMetrics: { metrics: { name: string }[] }[] }[];
}

const read = ({ stringValue, boolValue, intValue, doubleValue, arrayValue }: AnyValue): Value => {
  const number = intValue ?? doubleValue;
  return (
    stringValue ??
    boolValue ??
    (number === undefined ? undefined : Number(number)) ??
    (arrayValue?.values ?? []).map((value) => String(read(value)))
  );
};
const readAll = (pairs: KeyValues = []): Record<string, Value> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, read(value)]));

const readSpan = (span: WireSpan): ReceivedSpan => {
  // Ids are hex in OTLP's JSON, and times are decimal text.
  if (!/^[\da-f]{32}$/.test(span.traceId) || !/^[\da-f]{16}$/.test(span.spanId))
    throw new Error(`an id is not hex: ${JSON.stringify(span)}`);
  if (BigInt(span.endTimeUnixNano) < BigInt(span.startTimeUnixNano))
    throw new Error('a span ends before it starts');
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name,
    kind: span.kind,
    attributes: readAll(span.attributes),
    links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
    isFailed: span.status?.code === 2,
  };
};

/** A collector that takes OTLP over HTTP as JSON, and keeps what came. */
export const startOtlpReceiver = async (): Promise<OtlpReceiver> => {
  const received: Omit<OtlpReceiver, 'url' | 'close'> = {
    metrics: new Set(),
    spans: [],
    services: [],
    headers: [],
  };
  const server = createServer((request, response) => {
    void (async () => {
      const { resourceSpans = [], resourceMetrics = [] } = (await json(request)) as WireBody;
      received.headers.push(request.headers);
      for (const { resource, scopeSpans } of resourceSpans) {
        received.services.push(readAll(resource.attributes));
        for (const { spans } of scopeSpans) received.spans.push(...spans.map(readSpan));
      }
      for (const { scopeMetrics } of resourceMetrics)
        for (const { metrics } of scopeMetrics) for (const { name } of metrics) received.metrics.add(name);
      response.setHeader('content-type', 'application/json').end('{}');
    })();
  });
  const port = await listeningPort(server.listen(0, '127.0.0.1'));
  return {
    ...received,
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
