import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Clock } from '../kit/clock.ts';
import type { ErrorCode } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import type { LeadDesk } from '../leads/keeping/lead-desk.ts';
import type { ForgetUpstream } from '../leads/upstream/forget-upstream.ts';
import type { StoreSettings } from '../store/store-settings.ts';
import type { DescribedOperation } from '../operations/definition.ts';
import type { ErrorText } from '../operations/operation-docs.ts';
import type { Providers } from '../providers/create-providers.ts';
import type { Buyer } from '../purchases/bought/create-buyer.ts';
import type { OperatorRole, Store } from '../store/store.ts';
import type { RefusalLimit } from './refusal-limit.ts';

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
  leads: { desk: LeadDesk; place: StoreSettings; forgetUpstream: ForgetUpstream };
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

/**
 * One thing that operators do, defined once. The routes below /admin/v1, their description and the command line are made
 * from the list of these (operator-operations.ts). `Written` is the input as callers write it.
 */
export interface OperatorOperation<
  Input = unknown,
  Output extends object = object,
  Written = unknown,
> extends DescribedOperation {
  /** Who may call it. Each call of a `write` operation is a row of the audit log, also if it is refused. */
  role: OperatorRole;
  sale: { kind: 'free' };
  input: z.ZodType<Input, Written>;
  output: z.ZodType<Output>;
  /** Makes what the audit log keeps of the input; by default all of it as it was written. */
  logged?(input: Input): JsonObject;
  /**
   * Makes the JSON answer. Throws refusals as AppError. `callId` is a new UUID, that of the call's row in the audit log: a
   * change that makes one thing gives it this id, so that the log leads to it.
   */
  handle(input: Input, services: OperatorServices, callId: string): Promise<Output>;
}

interface Parts<Fields extends z.ZodRawShape, Output extends object> extends Pick<
  DescribedOperation,
  'name' | 'title' | 'description' | 'group'
> {
  /** Below /admin/v1, with fields in braces. */
  path: string;
  /** The input. Unknown fields are refused. Texts have a maximum length, because the audit log keeps the input. */
  fields: Fields;
  output: z.ZodType<Output>;
  /**
   * The media types of a body that is not JSON. A body without a type may be any of them. All fields that are not in the
   * path are in the query then.
   */
  accepts?: readonly string[];
  logged?(input: z.output<z.ZodObject<Fields>>): JsonObject;
  /** The name of the answer's schema, a noun such as `AccountPage`. Operations with one `output` have one name. */
  answer: string;
  example: { input: JsonObject; answer: Output };
  /** The error codes beside those of all operations. */
  errors?: readonly ErrorCode[];
  handle(input: z.output<z.ZodObject<Fields>>, services: OperatorServices, callId: string): Promise<Output>;
}

type Made<Fields extends z.ZodRawShape, Output extends object> = OperatorOperation<
  z.output<z.ZodObject<Fields>>,
  Output,
  z.input<z.ZodObject<Fields>>
>;

/** Makes an operation that changes nothing: GET, with the fields that are not in the path in the query. */
export const operatorRead = <Fields extends z.ZodRawShape, Output extends object>(
  parts: Parts<Fields, Output>,
): Made<Fields, Output> => operatorOperation('read', parts);

/** Makes an operation that changes something: POST, with the fields that are not in the path in the body. */
export const operatorWrite = <Fields extends z.ZodRawShape, Output extends object>(
  parts: Parts<Fields, Output>,
): Made<Fields, Output> => operatorOperation('write', parts);

const operatorOperation = <Fields extends z.ZodRawShape, Output extends object>(
  role: OperatorRole,
  { path, fields, answer, accepts, example, errors = [], ...parts }: Parts<Fields, Output>,
): Made<Fields, Output> => {
  const inPath = Object.keys(fields).filter((name) => path.includes(`{${name}}`));
  const isRead = role === 'read';
  const hasJsonBody = !isRead && accepts === undefined;
  const isParameter = ([name]: [string, unknown]): boolean => !hasJsonBody || inPath.includes(name);
  const given = Object.entries(example.input);
  const parameters = Object.fromEntries(given.filter(isParameter));
  const body = Object.fromEntries(given.filter((field) => !isParameter(field)));
  const typeError = accepts === undefined ? {} : { unsupported_media_type: typeErrorOf(accepts) };
  return {
    ...parts,
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
          answer: example.answer as JsonObject,
        },
      ],
      wrong: { ...example.input, colour: 'blue' },
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
