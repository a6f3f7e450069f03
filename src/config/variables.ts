import { z } from 'zod';
import { walletVariables } from '../accounts/catalog/wallet-settings.ts';
import { jobVariables } from '../jobs/job-settings.ts';
import { s3Variables } from '../http/s3/s3-settings.ts';
import { keyFileVariables } from './key-files.ts';
import { leadsVariables } from '../leads/leads-settings.ts';
import { limitVariables } from '../limits/limit-settings.ts';
import { mediaVariables } from '../media/media-settings.ts';
import { searchVariables } from '../operations/search/search-settings.ts';
import { mountVariables } from '../mounts/mount-settings.ts';
import { cardVariables } from '../payments/cards/card-settings.ts';
import { x402Variables } from '../payments/x402-settings.ts';
import { storeVariables } from '../store/store-settings.ts';
import { webhookVariables } from '../jobs/webhooks/webhook-settings.ts';
import { telemetryVariables } from '../telemetry/telemetry-settings.ts';
import { serverVariables } from './server-settings.ts';

/** All environment variables, in the tables of the modules that use them. Titles are headings in docs/configuration.md. */
export const variableTables = {
  'The server': serverVariables,
  'The store': storeVariables,
  Media: mediaVariables,
  Buckets: s3Variables,
  Limits: limitVariables,
  Jobs: jobVariables,
  Telemetry: telemetryVariables,
  'Callbacks and addresses': webhookVariables,
  'The search': searchVariables,
  'Lead sources': leadsVariables,
  'x402 payments': x402Variables,
  'Wallet accounts': walletVariables,
  Cards: cardVariables,
  'Mounted tools': mountVariables,
  'Keys in files': keyFileVariables,
};

type Merged<Table> = (Table extends z.ZodRawShape ? (table: Table) => void : never) extends (
  table: infer All,
) => void
  ? All
  : never;

export const allVariables = Object.assign({}, ...Object.values(variableTables)) as Merged<
  (typeof variableTables)[keyof typeof variableTables]
>;

/** Variables of earlier versions. The start names those that are still set. */
export const removedVariables = ['VIDEO_STREAMS'];

export interface VariableRow {
  name: string;
  /** As an operator would write it; null: the variable has no default. */
  default: string | null;
  /** One line of Markdown. */
  text: string;
}

/** Lists the variables of one table, for people. */
export const variableRows = (table: z.ZodRawShape): VariableRow[] => {
  const { properties = {} } = z.toJSONSchema(z.object(table), { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, setting]) => {
    const { description = '', default: value } = typeof setting === 'boolean' ? {} : setting;
    return { name, default: typeof value === 'string' ? value : null, text: description };
  });
};

export const settingsHelp = (): string =>
  Object.entries(variableTables)
    .map(([title, table]) => [title, ...variableRows(table).map(toHelp)].join('\n'))
    .join('\n\n');

const toHelp = ({ name, default: value, text }: VariableRow): string => {
  const plain = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
  return `  ${name}${value === null ? '' : `=${value}`}\n      ${plain}`;
};
