import type { JsonObject } from '../kit/json.ts';
import type { CommandForm, Verb, OperatorServices } from '../operator/verb.ts';
import { formatTable } from '../operator/view.ts';
import type { Answer } from './command-context.ts';
import type { CommandDefinition } from './command-definition.ts';
import { toCommand } from './form-command.ts';

/** Makes the command of an operation; none for an operation that is no command. */
export const commandsOf = (operation: Verb): CommandDefinition[] => {
  const { command: form, docs, title, description, fields } = operation;
  if (form === null) return [];
  const [{ parameters, body }] = docs.examples;
  return [
    toCommand({
      ...form,
      title,
      description,
      fields,
      example: { ...parameters, ...body },
      run: async (session, input) => {
        const answer = await session.operate(operation, input);
        return { json: answer, ...(await showAnswer(form, { answer, input, session })) };
      },
    }),
  ];
};

interface Answered {
  answer: object;
  input: Readonly<Record<string, unknown>>;
  session: OperatorServices;
}

const showAnswer = async (
  form: CommandForm,
  { answer, input, session }: Answered,
): Promise<Omit<Answer, 'json'>> => {
  const { of, usage, table } = form;
  const items = of === undefined ? [] : [(answer as JsonObject)[of]].flat();
  const isLast = !('has_more' in answer && answer.has_more === true);
  const remark = isLast ? table?.remark?.(answer) : remarkOfMore(items.at(-1), usage);
  if (table === undefined) {
    const shown = (await form.show?.(answer, session, input)) ?? '';
    return typeof shown === 'string' ? { text: shown, remark } : { remark, ...shown };
  }
  const { columns, none = '', row = () => ({}) } = table;
  const rows = items.map((item) => ({ ...(item as JsonObject), ...row(item as never) }));
  return { text: rows.length === 0 ? none : formatTable(columns, rows), remark };
};

/** The first member of an item is its id. */
const remarkOfMore = (last: unknown, usage: string): string => {
  const cursor = /--(?:after|before)(?= )/.exec(usage)?.[0];
  const [id] = Object.values(last ?? {});
  return `There are more: raise --limit, or ${cursor === undefined ? 'narrow the list.' : `continue with ${cursor} ${String(id)}`}`;
};
