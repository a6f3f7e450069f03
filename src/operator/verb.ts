import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Reloaded } from '../config/reload.ts';
import type { Clock } from '../kit/clock.ts';
import { type ErrorCode, AppError } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import type { LeadTasks } from '../leads/lead-tasks.ts';
import type { ForgetUpstream } from '../leads/upstream/forget-upstream.ts';
import type { DescribedOperation } from '../operations/definition.ts';
import type { ErrorText } from '../operations/operation-docs.ts';
import type { Buyer } from '../payments/buying/create-buyer.ts';
import type { Providers } from '../providers/create-providers.ts';
import type { StoreSettings } from '../store/store-settings.ts';
import type { OperatorRole, Store } from '../store/store.ts';
import { exampleOf } from '../operations/view.ts';

/** The parts that handlers use: in the gateway, and in the command line while no gateway runs. */
export interface OperatorServices {
  store: Store;
  clock: Clock;
  brand: string;
  /** Loads the whole configuration, its keys included. Rejects with ConfigError. */
  config(): Promise<Config>;
  /** Counts the refusals of an actor (`createRefusalLimit`). Absent on the command line: each one is in the audit log. */
  refusals?(actor: string): number | null;
  /** Absent on the command line. */
  gateway?: GatewayParts;
}

/** The parts that only a running gateway has, and the request that it answers. */
export interface GatewayParts {
  providers: Pick<Providers, 'health'>;
  /** Sells by the changes of models at once. */
  shelf: { follow(): Promise<void> };
  /** Reads the settings again. Rejects with ConfigError. */
  reload(): Promise<Reloaded>;
  /** Null: no upstream is paid by x402. */
  buyer: Pick<Buyer, 'problems'> | null;
  leads: { desk: LeadTasks; place: StoreSettings; forgetUpstream: ForgetUpstream };
  /** The body of the request, for verbs that `accept` one which is not JSON. */
  body: Readable;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

/** Returns the parts for a verb that the command line does not run. */
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

/** How the command line calls a verb and shows its answer. Its help has the texts of the verb and its fields. */
export interface CommandForm<Output extends object = object> {
  /**
   * Its words, arguments and options: `credit <account> <amount> --reason <text> [--entry-id <uuid>]`. A name stands for
   * the field of this name, also with `_id`, `_usd`, `_at` or `s` after it, or without `no-` before it. A required field
   * that may be left out here is a new id.
   */
  usage: string;
  /** Follows the description of the verb in the help. */
  more?: string;
  /** Arguments that work as they stand, beside those of the verb's example. */
  examples?: readonly string[];
  /** Creates a missing embedded store. */
  isNewAllowed?: true;
  /** The member of the answer that is shown, by default its first. Of a page, its last item leads to the next one. */
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

interface VerbParts<Fields extends z.ZodRawShape, Output extends object> extends Pick<
  DescribedOperation,
  'name' | 'title' | 'description'
> {
  /** Below /admin/v1, with fields in braces. */
  path: string;
  /**
   * The media types of a body that is not JSON. A body without a type may be any of them. All fields that are not in the
   * path are in the query then.
   */
  accepts?: readonly string[];
  /** The input. Unknown fields are refused. Texts have a maximum length, because the audit log keeps the input. */
  fields: Fields;
  output: z.ZodType<Output>;
  /** The name of the answer's schema, a noun such as `AccountPage`. Verbs with one `output` have one name. */
  answer: string;
  /** An input. Default: none. */
  example?: JsonObject;
  /** What the answer to the example has beside the examples of its parts. */
  exampleAnswer?: Partial<Output>;
  /** The error codes beside those of all verbs. */
  errors?: readonly ErrorCode[];
  /** Absent: it is no command. */
  command?: CommandForm<Output>;
  /** Makes what the audit log keeps of the input; by default all of it as it was written. */
  logged?(input: z.output<z.ZodObject<Fields>>): JsonObject;
  /**
   * Makes the JSON answer. Throws refusals as AppError. `callId` is a new UUID, that of the call's row in the audit log: a
   * change that makes one thing gives it this id, so that the log leads to it.
   */
  handle(input: z.output<z.ZodObject<Fields>>, services: OperatorServices, callId: string): Promise<Output>;
}

/** One thing that operators do. Routes, their description and the command line are made from the list (verbs.ts). */
export interface Verb<Fields extends z.ZodRawShape = z.ZodRawShape, Output extends object = object>
  extends
    Omit<DescribedOperation, 'group'>,
    Pick<VerbParts<Fields, Output>, 'fields' | 'command' | 'logged' | 'handle'> {
  /** The role that may call it. Each call of a `write` verb is a row of the audit log, also a refused one. */
  role: OperatorRole;
  sale: { kind: 'free' };
  input: z.ZodType<z.output<z.ZodObject<Fields>>, z.input<z.ZodObject<Fields>>>;
  output: z.ZodType<Output>;
}

/** Makes a verb that changes nothing: GET, with the fields that are not in the path in the query. */
export const readVerb = <Fields extends z.ZodRawShape, Output extends object>(
  parts: VerbParts<Fields, Output>,
): Verb<Fields, Output> => toVerb('read', parts);

/** Makes a verb that changes something: POST, with the fields that are not in the path in the body. */
export const writeVerb = <Fields extends z.ZodRawShape, Output extends object>(
  parts: VerbParts<Fields, Output>,
): Verb<Fields, Output> => toVerb('write', parts);

const toVerb = <Fields extends z.ZodRawShape, Output extends object>(
  role: OperatorRole,
  { path, answer, accepts, example = {}, exampleAnswer, errors = [], ...parts }: VerbParts<Fields, Output>,
): Verb<Fields, Output> => {
  const { fields, output, title, description } = parts;
  const isRead = role === 'read';
  const hasJsonBody = !isRead && accepts === undefined;
  const isInPath = (name: string): boolean => path.includes(`{${name}}`);
  const given = Object.groupBy(Object.entries(example), ([name]) =>
    hasJsonBody && !isInPath(name) ? 'body' : 'parameters',
  );
  return {
    ...parts,
    role,
    sale: { kind: 'free' },
    input: z.strictObject(fields),
    rest: {
      method: isRead ? 'GET' : 'POST',
      path: `/admin/v1${path}`,
      query: hasJsonBody ? [] : Object.keys(fields).filter((name) => !isInPath(name)),
      ...(accepts === undefined ? {} : { accepts }),
      validation: 'envelope',
      isStrict: true,
      errors: isRead ? errors : ['role_not_allowed', ...errors],
    },
    docs: {
      answer,
      description: isRead ? null : `${description} Needs a key with the role \`write\`.`,
      examples: [
        {
          summary: title,
          parameters: Object.fromEntries(given.parameters ?? []),
          ...(hasJsonBody ? { body: Object.fromEntries(given.body ?? []) } : {}),
          status: 200,
          // The schema of the answer is JSON.
          answer: { ...(exampleOf(output) as JsonObject), ...(exampleAnswer as JsonObject) },
        },
      ],
      wrong: { ...example, colour: 'blue' },
      headers: {},
      mayBeSandbox: false,
      errors: {
        invalid_api_key: keyError,
        ...(accepts === undefined
          ? {}
          : {
              unsupported_media_type: {
                when: 'The Content-Type is another one.',
                message: wrongTypeText(accepts),
              },
            }),
      },
    },
  };
};

const keyError: ErrorText = {
  when: 'The operator key is missing, unknown, expired or revoked.',
  message: 'This needs an operator key. Send "Authorization: Bearer <OPERATOR_KEY>".',
};

/** Tells the caller which types of a body are read. */
export const wrongTypeText = (accepts: readonly string[]): string =>
  `The body is not of a type that is read here. Send it with one of these in Content-Type: ${accepts.join(', ')}.`;

type Findable =
  | 'account'
  | 'key'
  | 'connection'
  | 'job'
  | 'webhook'
  | 'payment'
  | 'refund'
  | 'entry'
  | 'audit';

/** Makes the refusal of an unknown id. Shortens the id, so that a key given in place of its id is not shown whole. */
export const notFound = (kind: Findable, id: string): AppError => {
  const shown = JSON.stringify(id.length > 40 ? `${id.slice(0, 20)}…` : id);
  return new AppError(`${kind}_not_found`, `There is no ${kind} with id ${shown}.`);
};

/** Returns `found`. Throws AppError `<kind>_not_found` if it is null. */
export const requireFound = <T>(found: T | null, kind: Findable, id: string): T => {
  if (found === null) throw notFound(kind, id);
  return found;
};

/** Commands below the same words. The help of a group shows the first example of each. */
export interface CommandGroup {
  words: string;
  alias?: string | undefined;
  summary: string;
  /** Follows the summary in the help of the group. */
  more?: string | undefined;
}
