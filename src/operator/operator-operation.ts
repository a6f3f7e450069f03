import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Clock } from '../kit/clock.ts';
import type { ErrorCode } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import type { LeadTasks } from '../leads/lead-tasks.ts';
import type { ForgetUpstream } from '../leads/upstream/forget-upstream.ts';
import type { StoreSettings } from '../store/store-settings.ts';
import type { DescribedOperation } from '../operations/definition.ts';
import type { ErrorText } from '../operations/operation-docs.ts';
import type { Providers } from '../providers/create-providers.ts';
import type { Buyer } from '../payments/buying/create-buyer.ts';
import type { OperatorRole, Store } from '../store/store.ts';
import type { RefusalLimit } from './refusal-limit.ts';
import { exampleOf } from './view.ts';

/** The parts that handlers use: in the gateway, and in the command line while no gateway runs. */
export interface OperatorServices {
  store: Store;
  clock: Clock;
  brand: string;
  /** Loads the whole configuration, its keys included. Rejects with ConfigError. */
  config(): Promise<Config>;
  /** Absent on the command line, where each refused change is in the audit log. */
  refusals?: RefusalLimit;
  /** Absent on the command line. */
  gateway?: GatewayParts;
}

/** The parts that only a running gateway has, and the request that it answers. */
export interface GatewayParts {
  providers: Pick<Providers, 'health'>;
  /** Null: no upstream is paid by x402. */
  buyer: Pick<Buyer, 'problems'> | null;
  leads: { desk: LeadTasks; place: StoreSettings; forgetUpstream: ForgetUpstream };
  /** The body of the request, for operations that `accept` one which is not JSON. */
  body: Readable;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

/** Returns the parts for an operation that the command line does not run. */
export const inGateway = ({ gateway }: Pick<OperatorServices, 'gateway'>): GatewayParts => {
  if (gateway === undefined) throw new TypeError('only a running gateway does this');
  return gateway;
};

/** An answer for people: its text, a note beside it, and the exit code 1 where a check found a problem. */
export type Shown = string | { text: string; remark?: string | undefined; exitCode?: 0 | 1 };

/** A table of the member `of` of an answer, which is a list or a single thing. */
interface ShownTable<Output> {
  /** As `formatTable` takes them. */
  columns: string;
  /** Stands for a list without items. */
  none?: string;
  /** Adds the members that only people see. */
  row?(item: never): object;
  /** A note beside the table. */
  remark?(answer: Output): string;
}

/** How the command line calls an operation and shows its answer. Its help has the texts of the operation and its fields. */
export interface CommandForm<Output extends object = object> {
  /**
   * Its words, arguments and options: `credit <account> <amount> --reason <text> [--entry-id <uuid>]`. A name stands for
   * the field of this name, also with `_id`, `_usd` or `_at` after it. A required field that may be left out here is a new id.
   */
  usage: string;
  /** Follows the description of the operation in the help. */
  more?: string;
  /** Arguments that work as they stand, beside those of the operation's example. */
  examples?: readonly string[];
  /** Creates a missing embedded store. */
  isNewAllowed?: true;
  /** The member of the answer that is shown. Of a page, its last item leads to the next one. */
  of?: string;
  /** Stands for `show` where people see that member as a table. */
  table?: ShownTable<Output>;
  /** Writes the answer for people. `input`: as it was written. */
  show?(
    answer: Output,
    services: OperatorServices,
    input: Readonly<Record<string, unknown>>,
  ): Shown | Promise<Shown>;
}

/** The work of an operation. */
interface Work<Fields extends z.ZodRawShape, Output extends object> {
  /** The input. Unknown fields are refused. Texts have a maximum length, because the audit log keeps the input. */
  fields: Fields;
  output: z.ZodType<Output>;
  /** Makes what the audit log keeps of the input; by default all of it as it was written. */
  logged?(input: z.output<z.ZodObject<Fields>>): JsonObject;
  /**
   * Makes the JSON answer. Throws refusals as AppError. `callId` is a new UUID, that of the call's row in the audit log: a
   * change that makes one thing gives it this id, so that the log leads to it.
   */
  handle(input: z.output<z.ZodObject<Fields>>, services: OperatorServices, callId: string): Promise<Output>;
}

/**
 * One thing that operators do, defined once. The routes below /admin/v1, their description and the command line are made
 * from the list of these (operator-operations.ts).
 */
export interface OperatorOperation<
  Fields extends z.ZodRawShape = z.ZodRawShape,
  Output extends object = object,
>
  extends DescribedOperation, Work<Fields, Output> {
  /** The role that may call it. Each call of a `write` operation is a row of the audit log, also a refused one. */
  role: OperatorRole;
  sale: { kind: 'free' };
  input: z.ZodType<z.output<z.ZodObject<Fields>>, z.input<z.ZodObject<Fields>>>;
  output: z.ZodType<Output>;
  /** Null: it is no command. */
  command: CommandForm<Output> | null;
}

interface Parts<Fields extends z.ZodRawShape, Output extends object>
  extends Pick<DescribedOperation, 'name' | 'title' | 'description' | 'group'>, Work<Fields, Output> {
  /** Below /admin/v1, with fields in braces. */
  path: string;
  /**
   * The media types of a body that is not JSON. A body without a type may be any of them. All fields that are not in the
   * path are in the query then.
   */
  accepts?: readonly string[];
  /** The name of the answer's schema, a noun such as `AccountPage`. Operations with one `output` have one name. */
  answer: string;
  /** An input. */
  example: JsonObject;
  /** What the answer to the example has beside the examples of its parts. */
  exampleAnswer?: Partial<Output>;
  /** The error codes beside those of all operations. */
  errors?: readonly ErrorCode[];
  /** Absent: it is no command. */
  command?: CommandForm<Output>;
}

/** Makes an operation that changes nothing: GET, with the fields that are not in the path in the query. */
export const operatorRead = <Fields extends z.ZodRawShape, Output extends object>(
  parts: Parts<Fields, Output>,
): OperatorOperation<Fields, Output> => operatorOperation('read', parts);

/** Makes an operation that changes something: POST, with the fields that are not in the path in the body. */
export const operatorWrite = <Fields extends z.ZodRawShape, Output extends object>(
  parts: Parts<Fields, Output>,
): OperatorOperation<Fields, Output> => operatorOperation('write', parts);

const operatorOperation = <Fields extends z.ZodRawShape, Output extends object>(
  role: OperatorRole,
  {
    path,
    fields,
    answer,
    accepts,
    example,
    exampleAnswer,
    errors = [],
    command,
    ...parts
  }: Parts<Fields, Output>,
): OperatorOperation<Fields, Output> => {
  const inPath = Object.keys(fields).filter((name) => path.includes(`{${name}}`));
  const isRead = role === 'read';
  const hasJsonBody = !isRead && accepts === undefined;
  const isParameter = ([name]: [string, unknown]): boolean => !hasJsonBody || inPath.includes(name);
  const given = Object.entries(example);
  const parameters = Object.fromEntries(given.filter(isParameter));
  const body = Object.fromEntries(given.filter((field) => !isParameter(field)));
  const typeError = accepts === undefined ? {} : { unsupported_media_type: typeErrorOf(accepts) };
  return {
    ...parts,
    fields,
    command: command ?? null,
    role,
    sale: { kind: 'free' },
    input: z.strictObject(fields),
    rest: {
      method: isRead ? 'GET' : 'POST',
      path: `/admin/v1${path}`,
      query: hasJsonBody ? [] : Object.keys(fields).filter((name) => !inPath.includes(name)),
      ...(accepts === undefined ? {} : { accepts }),
      validation: 'envelope',
      isStrict: true,
      errors: isRead ? errors : ['role_not_allowed', ...errors],
    },
    docs: {
      answer,
      description: isRead ? null : `${parts.description} Needs a key with the role \`write\`.`,
      examples: [
        {
          summary: parts.title,
          parameters,
          ...(hasJsonBody ? { body } : {}),
          status: 200,
          // The schema of the answer is JSON.
          answer: { ...(exampleOf(parts.output) as JsonObject), ...(exampleAnswer as JsonObject) },
        },
      ],
      wrong: { ...example, colour: 'blue' },
      headers: {},
      mayBeSandbox: false,
      errors: { invalid_api_key: keyError, ...typeError },
    },
  };
};

const keyError: ErrorText = {
  when: 'The operator key is missing, unknown, expired or revoked.',
  message: 'This needs an operator key. Send "Authorization: Bearer <OPERATOR_KEY>".',
};

const typeErrorOf = (accepts: readonly string[]): ErrorText => ({
  when: 'The Content-Type is another one.',
  message: wrongTypeText(accepts),
});

/** Tells the caller which types of a body are read. */
export const wrongTypeText = (accepts: readonly string[]): string =>
  `The body is not of a type that is read here. Send it with one of these in Content-Type: ${accepts.join(', ')}.`;
