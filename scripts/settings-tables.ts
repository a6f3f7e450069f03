import { z } from 'zod';
import { fileSchema } from '../src/config/file-settings.ts';
import { variableRows, variableTables } from '../src/config/variables.ts';
import { allMetrics, prometheusName } from '../src/telemetry/names.ts';
import { paymentNetworks } from '../src/payments/chains/networks.ts';

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

/** One line for each: a table would leave most of its column of defaults empty. */
const toList = (rows: readonly { name: string; remark: string; text: string }[]): string =>
  rows
    .map(({ name, remark, text }) => `- ${code(name)}${remark === '' ? '' : ` (${remark})`}: ${text}`)
    .join('\n');

/** A value as code of Markdown; nothing for an empty text. */
const code = (value: string | number | boolean): string => (value === '' ? '' : `\`${value}\``);

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

/** The text below the list says this in one sentence. */
const keyFiles = 'Keys in files';

const variableList = (): string =>
  Object.entries(variableTables)
    .filter(([title]) => title !== keyFiles)
    .map(([title, table]) => {
      const rows = variableRows(table).map(({ name, default: value, text }) => ({
        name,
        remark: code(value ?? ''),
        text,
      }));
      return `### ${title}\n\n${toList(rows)}`;
    })
    .join('\n\n');

/** The keys of these sections are those of another one, which their text names. */
const repeated = ['leads.http.pay.', 'mcp_servers.NAME.pay.', 'models.NAME.routes[].cost.'];

const keyList = (): string =>
  toList(
    keyRows()
      .filter(({ name, text }) => text !== '' && !repeated.some((section) => name.startsWith(section)))
      .map((row) => ({ name: row.name, remark: row.default, text: row.text })),
  );

const ways = { eip3009: 'ERC-3009', permit2: 'Permit2' };

const networkList = (): string =>
  toList(
    paymentNetworks.map(({ id, label, asset: { symbol, transfer } }) => ({
      name: id,
      remark: label,
      text: `${symbol}, by ${transfer === null ? "the buyer's transaction" : ways[transfer]}`,
    })),
  );

/** Their names say what they are. */
const processMetrics = /^(?:nodejs|process|v8js)\./;

const metricList = (): string =>
  toList(
    allMetrics
      .filter(({ name }) => !processMetrics.test(name))
      .map((metric) => ({
        name: prometheusName(metric),
        remark: metric.labels.map((label) => code(label.replaceAll('.', '_'))).join(', '),
        text: metric.text,
      })),
  );

export const documentsWithTables = ['docs/configuration.md', 'docs/operators-telemetry.md'];

/** Replaces the lists of a document in docs/, each between `<!-- NAME -->` and `<!-- end of NAME -->`. */
export const withSettingTables = (document: string): string =>
  Object.entries({
    variables: variableList(),
    keys: keyList(),
    networks: networkList(),
    metrics: metricList(),
  }).reduce(
    (text, [name, table]) =>
      text.replace(
        new RegExp(`(<!-- ${name} -->).*(<!-- end of ${name} -->)`, 's'),
        (_, start: string, end: string) => `${start}\n\n${table}\n\n${end}`,
      ),
    document,
  );
