import { z } from 'zod';
import { variableTables } from './variables.ts';

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

/** Makes the list of all variables for --help. */
export const settingsHelp = (): string =>
  Object.entries(variableTables)
    .map(([title, table]) => [title, ...variableRows(table).map(toHelp)].join('\n'))
    .join('\n\n');

const toHelp = ({ name, default: value, text }: VariableRow): string => {
  const plain = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
  return `  ${name}${value === null ? '' : `=${value}`}\n      ${plain}`;
};
