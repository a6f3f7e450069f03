import { Argument, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { AppError } from '../kit/errors.ts';
import { newId } from '../kit/ids.ts';
import { type JsonObject, parseJson } from '../kit/json.ts';
import type { CommandForm, OperatorServices, Verb } from '../operator/verb.ts';
import { formatTable } from '../operator/format-table.ts';
import { StoreError } from '../store/store-error.ts';
import type { Answer, CommandDefinition, Session } from './command.ts';
import { CommandError } from './command-error.ts';

/** A command whose arguments and options are the fields of an input. */
interface FormCommand<Fields extends z.ZodRawShape> extends Pick<CommandForm, 'usage' | 'more' | 'examples'> {
  title: string;
  description: string;
  /** Default: none. */
  fields?: Fields;
  /** An input. The first example of the help is made of it. Default: none. */
  example?: Readonly<Record<string, unknown>>;
  /** Stands below the examples. */
  appendix?: string;
  /** `input`: as it was written. A required field that was left out has a new id. */
  run(session: Session, input: z.input<z.ZodObject<Fields>>): Promise<Answer>;
}

interface Parameter extends ReturnType<typeof describeField> {
  /** As help texts name it: `--entry-id <uuid>`, `<account>`. */
  flags: string;
  /** `entry-id` */
  name: string;
  /** `uuid`; undefined for a flag. */
  value: string | undefined;
  isOption: boolean;
  isRequired: boolean;
  /** Whether its values are a list: `<file...>`, or an option that can be repeated. */
  isList: boolean;
  field: string;
  schema: z.ZodType;
}

const readUsage = (usage: string, fields: z.ZodRawShape) => {
  const tokens = usage.match(/\[[^\]]+\]|--\S+(?: <\S+>)?|\S+/g) ?? [];
  const words = tokens.filter((token) => /^\w/.test(token)).join(' ');
  const parameters = tokens
    .filter((token) => !/^\w/.test(token))
    .map((token): Parameter => {
      const flags = token.replace(/^\[(--.*)\]$/, '$1');
      const [name = '', value] = flags.match(/\w[\w-]*/g) ?? [];
      const base = name.replaceAll('-', '_');
      const names = [base, `${base}_id`, `${base}_usd`, `${base}_at`, `${base}s`, base.replace(/^no_/, '')];
      const field = names.find((one) => one in fields);
      if (field === undefined) throw new TypeError(`${usage}: there is no field for "${name}"`);
      const schema = fields[field] as z.ZodType;
      const described = describeField(schema);
      return {
        ...described,
        flags,
        name,
        value,
        isOption: flags.startsWith('--'),
        isRequired: !token.startsWith('['),
        isList: flags.includes('...') || described.takesSeveral,
        field,
        schema,
      };
    });
  return { words, parameters };
};

/** Describes a field as it is written. Of several forms, the first one tells how a text is read. */
const describeField = (schema: z.ZodType) => {
  const { description = '', default: usual, ...written } = z.toJSONSchema(schema, fieldOptions);
  const forms = (written.anyOf ?? written.oneOf ?? [written]).filter(({ type }) => type !== 'null');
  const [{ type, enum: choices } = written] = forms;
  return {
    description,
    usual,
    type,
    choices,
    takesSeveral: forms.length > 1 && forms.some((one) => one.type === 'array'),
  };
};

const fieldOptions = { io: 'input', unrepresentable: 'any' } as const;

/** Writes a text of a verb for the command line: with its options in place of fields, `"none"` in place of null. */
const inWords = (text: string, parameters: readonly Parameter[]): string =>
  text
    .replace(/^(?:True|False): /, '')
    .replace(/`([^`]+)`|\b[a-z]+(?:_[a-z]+)+\b/g, (word, code: string = word) => {
      const named = parameters.find(({ field }) => field === code);
      return named === undefined ? code : named.isOption ? `--${named.name}` : `<${named.name}>`;
    })
    .replace(/\b[Nn]ull\b/g, '"none"');

/** Writes a sentence as the lists of a help text have it. */
const toPhrase = (sentence: string): string =>
  sentence.replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase()).replace(/\.$/, '');

/** How values are written, by their names in usage lines. */
const valueForms = { time: ' (a date, or a date-time with its zone)', skus: ' (divided by commas)' };

const describeParameter = (
  { description, value, isRequired, isOption }: Parameter,
  all: readonly Parameter[],
) =>
  [
    toPhrase(inWords(description, all)),
    Object.entries(valueForms).find(([name]) => name === value)?.[1],
    isOption && isRequired ? ' (required)' : '',
  ].join('');

/** Returns what was written as the field takes it. */
const toWritten = ({ schema, type }: Parameter, given: unknown): unknown => {
  if (typeof given !== 'string') return given;
  if (given === 'none' && schema.safeParse(null).success) return null;
  if (type === 'array') return given.split(',');
  if (type === 'object') {
    const read = parseJson(given);
    // What is no JSON stays as it is written, and the field refuses it.
    return read === undefined ? given : read;
  }
  return (type === 'integer' || type === 'number') && /^\d{1,9}$/.test(given) ? Number(given) : given;
};

/** Refuses what the field refuses in a sentence, or in what follows "It". The command itself checks the rest. */
const readerOf =
  (parameter: Parameter) =>
  (text: string, before: unknown): unknown => {
    const given = parameter.isList ? [...(Array.isArray(before) ? before : []), text] : text;
    const problem = parameter.schema.safeParse(toWritten(parameter, given)).error?.issues[0]?.message;
    if (problem === undefined || /^(?:Invalid |Too )/.test(problem)) return given;
    throw new InvalidArgumentError(problem.endsWith('.') ? problem : `It ${problem}.`);
  };

const toOption = (parameter: Parameter, all: readonly Parameter[]): Option => {
  const { flags, type, usual, choices, isRequired } = parameter;
  const option = new Option(flags, describeParameter(parameter, all)).makeOptionMandatory(isRequired);
  if (type === 'boolean') return option;
  if (usual !== undefined && usual !== '') option.default(usual);
  return choices ? option.choices(choices.map(String)) : option.argParser(readerOf(parameter));
};

/** Makes the input of what commander has read: the arguments, then the options. */
const toInput = (parameters: readonly Parameter[], given: readonly unknown[]): Record<string, unknown> => {
  const args = parameters.filter(({ isOption }) => !isOption);
  const options = given[args.length] as Record<string, unknown>;
  const written = parameters.map((one) => {
    const value = one.isOption ? options[new Option(one.flags).attributeName()] : given[args.indexOf(one)];
    return [one.field, toWritten(one, value)] as const;
  });
  return Object.fromEntries(written.filter(([, value]) => value !== undefined));
};

/** Names options in place of the fields of a refusal. */
const inFlags = (message: string, parameters: readonly Parameter[]): string =>
  message.replace(/(?<=^|; )\w+(?=: )/g, (field) => {
    const option = parameters.find((one) => one.isOption && one.field === field);
    return option === undefined ? field : `--${option.name}`;
  });

const quote = (value: unknown): string => {
  if (typeof value === 'object') return `'${JSON.stringify(value)}'`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[\w./:@,-]+$/.test(text) ? text : JSON.stringify(text);
};

const toArguments = (parameters: readonly Parameter[], input: Readonly<Record<string, unknown>>): string[] =>
  parameters.flatMap(({ field, name, isOption }) => {
    const value = input[field];
    if (value === undefined) return [];
    if (value === true) return [`--${name}`];
    if (Array.isArray(value) && !isOption) return value.map(quote);
    const one = quote(Array.isArray(value) ? value.join(',') : value);
    return isOption ? [`--${name}`, one] : [one];
  });

/** The option of an id that the caller makes, so that a repeated command does nothing twice. */
const findOwnId = (parameters: readonly Parameter[]): Parameter | undefined =>
  parameters.find(
    ({ isOption, isRequired, schema }) => isOption && !isRequired && !schema.safeParse(undefined).success,
  );

export const toCommand = <Fields extends z.ZodRawShape>(form: FormCommand<Fields>): CommandDefinition => {
  const { fields = {}, example: written = {}, more = '', examples = [], appendix = '' } = form;
  const { words, parameters } = readUsage(form.usage, fields);
  const own = findOwnId(parameters);
  const shown = parameters.filter((one) => one !== own);
  return {
    words,
    summary: toPhrase(form.title),
    description: `${inWords(form.description, parameters)} ${more}`.trim(),
    examples: [
      ['causeway', words, ...toArguments(shown, written)].join(' '),
      ...examples.map((example) =>
        example.startsWith('causeway ') ? example : `causeway ${words} ${example}`,
      ),
    ],
    appendix,
    arguments: parameters
      .filter(({ isOption }) => !isOption)
      .map((one) => new Argument(one.flags, describeParameter(one, parameters)).argParser(readerOf(one))),
    options: parameters.filter(({ isOption }) => isOption).map((one) => toOption(one, parameters)),
    run: async (session, given) => {
      const input = toInput(parameters, given);
      if (own !== undefined) input[own.field] ??= newId();
      try {
        // The command refuses what the readers of the arguments have let through.
        return await form.run(session, input as z.input<z.ZodObject<Fields>>);
      } catch (cause) {
        if (cause instanceof z.ZodError) {
          const [{ path, message } = { path: [], message: 'is wrong' }] = cause.issues;
          throw new CommandError('invalid_usage', inFlags(`${path.join('.')}: ${message}`, parameters));
        }
        if (cause instanceof AppError && cause.code === 'invalid_parameter')
          throw new CommandError('invalid_usage', inFlags(cause.message, parameters), { cause });
        if (own === undefined || !(cause instanceof StoreError)) throw cause;
        throw new CommandError(
          'store_failed',
          `The store failed, and the change may have been made. Repeat the command with --${own.name} ` +
            `${String(input[own.field])}, which makes it only once: ${cause.message}`,
          { cause },
        );
      }
    },
  };
};

/** Makes the command of a verb; none for a verb that is no command. */
export const commandsOf = (verb: Verb): CommandDefinition[] => {
  const { command: form, docs, title, description, fields } = verb;
  if (form === undefined) return [];
  const [{ parameters, body }] = docs.examples;
  return [
    toCommand({
      ...form,
      title,
      description,
      fields,
      example: { ...parameters, ...body },
      run: async ({ openStore }, input) => {
        const services = await openStore(form);
        const answer = await services.operate(verb, input);
        return { json: answer, ...(await showAnswer(form, answer, input, services)) };
      },
    }),
  ];
};

const showAnswer = async (
  form: CommandForm,
  answer: object,
  input: Readonly<Record<string, unknown>>,
  services: OperatorServices,
): Promise<Omit<Answer, 'json'>> => {
  const { of = Object.keys(answer)[0] ?? '', usage, table } = form;
  const items = [(answer as JsonObject)[of]].flat();
  const isLast = !('has_more' in answer && answer.has_more === true);
  const last = 'next_after' in answer ? { id: answer.next_after } : items.at(-1);
  const remark = isLast ? table?.remark?.(answer) : remarkOfMore(last, usage);
  if (table === undefined) {
    const shown = (await form.show?.(answer, services, input)) ?? '';
    return typeof shown === 'string' ? { text: shown, remark } : { remark, ...shown };
  }
  const { columns, none = '', row = () => ({}) } = table;
  const rows = items.map((item) => ({ ...(item as JsonObject), ...row(item as never) }));
  return { text: rows.length === 0 ? none : formatTable(columns, rows), remark };
};

/** The first member of an item is its id. A page whose end is no item names its own next. */
const remarkOfMore = (last: unknown, usage: string): string => {
  const cursor = /--(?:after|before)(?= )/.exec(usage)?.[0];
  const [id] = Object.values(last ?? {});
  return `There are more: raise --limit, or ${cursor === undefined ? 'narrow the list.' : `continue with ${cursor} ${String(id)}`}`;
};
