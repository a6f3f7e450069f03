import { z } from 'zod';
import { fileSchema } from '../src/config/file-settings.ts';
import { variableRows } from '../src/config/settings-help.ts';
import { variableTables } from '../src/config/variables.ts';
import { allMetrics, prometheusName } from '../src/telemetry/names.ts';
import { paymentNetworks } from '../src/payments/networks.ts';

/** The part of a JSON Schema that describes keys of causeway.yaml. */
interface KeySchema {
  description?: string;
  default?: unknown;
  properties?: Record<string, KeySchema>;
  required?: string[];
  additionalProperties?: KeySchema | boolean;
  items?: KeySchema;
  oneOf?: KeySchema[];
}

interface KeyRow {
  name: string;
  default: string;
  text: string;
}

/** Lists the keys within a section. A name that the operator chooses is written NAME. */
const rowsWithin = (path: string, schema: KeySchema): KeyRow[] => {
  const { properties = {}, required = [], additionalProperties: named, items, oneOf = [] } = schema;
  return [
    ...Object.entries(properties).flatMap(([key, member]) => {
      const name = path === '' ? key : `${path}.${key}`;
      const row = {
        name,
        default: required.includes(key) ? 'required' : defaultOf(member),
        text: member.description ?? '',
      };
      return [row, ...rowsWithin(name, member)];
    }),
    ...(typeof named === 'object' ? rowsWithin(`${path}.NAME`, named) : []),
    ...(items === undefined ? [] : rowsWithin(`${path}[]`, items)),
    ...oneOf.flatMap((form) => rowsWithin(path, form)),
  ];
};

const defaultOf = ({ default: value }: KeySchema): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? code(value) : '';

/** A value as code of Markdown; nothing for an empty text. */
const code = (value: string | number | boolean): string => (value === '' ? '' : `\`${value}\``);

const toTable = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** Lists all keys of causeway.yaml. Keys that several forms of a section share are listed once. */
export const keyRows = (): KeyRow[] => {
  const rows = rowsWithin(
    '',
    z.toJSONSchema(fileSchema, { io: 'input', unrepresentable: 'any' }) as KeySchema,
  );
  return rows.filter(
    ({ name, text }, index) => rows.findIndex((row) => row.name === name && row.text === text) === index,
  );
};

const variableTable = (): string =>
  Object.entries(variableTables)
    .map(([title, table]) => {
      const rows = variableRows(table).map(({ name, default: value, text }) => [
        code(name),
        code(value ?? ''),
        text,
      ]);
      return `### ${title}\n\n${toTable(['variable', 'default', 'meaning'], rows)}`;
    })
    .join('\n\n');

const keyTable = (): string =>
  toTable(
    ['key', 'default', 'meaning'],
    keyRows()
      .filter(({ text }) => text !== '')
      .map((row) => [code(row.name), row.default, row.text]),
  );

const ways = { eip3009: 'ERC-3009', permit2: 'Permit2' };

const networkTable = (): string =>
  toTable(
    ['name', 'network', 'token', 'transferred by'],
    paymentNetworks.map(({ id, label, asset: { symbol, decimals, transfer } }) => [
      code(id),
      label,
      `${symbol}, ${decimals} decimals`,
      transfer === null ? "the buyer's transaction" : ways[transfer],
    ]),
  );

const metricTable = (): string =>
  toTable(
    ['metric', 'labels', 'meaning'],
    allMetrics.map((metric) => [
      code(prometheusName(metric)),
      metric.labels.map((label) => code(label.replaceAll('.', '_'))).join(', '),
      metric.text,
    ]),
  );

export const documentsWithTables = ['docs/configuration.md', 'docs/operators-telemetry.md'];

/** Replaces the tables of a document in docs/, each between `<!-- NAME -->` and `<!-- end of NAME -->`. */
export const withSettingTables = (document: string): string =>
  Object.entries({
    variables: variableTable(),
    keys: keyTable(),
    networks: networkTable(),
    metrics: metricTable(),
  }).reduce(
    (text, [name, table]) =>
      text.replace(
        new RegExp(`(<!-- ${name} -->).*(<!-- end of ${name} -->)`, 's'),
        (_, start: string, end: string) => `${start}\n\n${table}\n\n${end}`,
      ),
    document,
  );
