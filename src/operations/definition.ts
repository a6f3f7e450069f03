import type { z } from 'zod';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import type { ErrorCode } from '../kit/errors.ts';
import type { ValidationForm } from '../kit/write-answer.ts';
import type { PriceRange } from '../payments/sale/gate.ts';
import type { Job, JobKind } from '../store/store.ts';
import type { Answer } from './answer.ts';
import type { AccountCall, OperationSettings, Services } from './call.ts';
import type { OperationDocs } from './operation-docs.ts';
import type { DescribedSale, FreeSale, Sale } from './sale.ts';

/** What REST, validation and the interface description read of an operation, of customers or of the operator. */
export interface DescribedOperation {
  /** The MCP tool's name and OpenAPI's operationId, in snake_case. */
  name: string;
  title: string;
  /** Tells models, and people, its effect, its price and its answer. */
  description: string;
  /** The tag in the interface description. */
  group: string;
  input: z.ZodType;
  /** The whole JSON answer; loose where it may grow. A tool's schema leaves out what is marked (schema-marks.ts). */
  output: z.ZodType;
  sale: DescribedSale;
  /** The kind of SKU that it sells. Without such a SKU in the catalog it is no tool, and REST answers model_not_found. */
  sells?: ModelConfig['kind'];
  /** Names that other APIs have, in lower case, with the fields that stand for each. */
  otherNames?: ReadonlyMap<string, readonly string[]>;
  /** The prices of its calls, for documents. */
  price?: PriceRange | null;
  rest: RestBinding;
  docs: OperationDocs;
}

/**
 * One thing that the gateway does, defined once. MCP tools, REST routes, prices and documents are made from the list of
 * operations (index.ts). A definition is static data and functions that get the services which its type names, so
 * documents and checks over all operations need no database.
 */
export interface Operation<
  Input = unknown,
  Sold extends Sale<Input> = Sale<Input>,
> extends DescribedOperation {
  group: 'generation' | 'search' | 'tools';
  input: z.ZodType<Input>;
  /** The arguments of the tool. Default: `input`. */
  toolInput?: z.ZodType<Input>;
  sale: Sold;
  /** Null: it is no tool, because another tool answers the same. */
  tool: ToolBinding | null;
  /** Absent: its answer is no MCP resource. */
  resource?: ResourceBinding;
}

/** Reads or changes the calling account's own data, free of charge. */
export type ReadOperation<Input = unknown, Needs = Services> = Omit<Operation<Input>, 'sale'> & {
  sale: FreeSale<Input, Needs>;
};

export interface RestBinding {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path as OpenAPI writes it, `/v1/jobs/{job_id}`. The names in braces are input fields. */
  path: string;
  /** Input fields that come from the query. The other fields of a POST or PUT come from the body; no other method has one. */
  query: readonly string[];
  validation: ValidationForm;
  /**
   * True: no field is ignored, and a POST whose body is JSON takes no query parameters. The schema must be a strict object.
   */
  isStrict?: true;
  /** True: a POST without a body is one without fields. */
  isBodyOptional?: true;
  /** The media types of a body that is not JSON. */
  accepts?: readonly string[];
  /** The media types of an answer that is bytes, not JSON. */
  content?: readonly string[];
  /** The media type of a file that it answers in place of JSON, where the input asks for that. */
  file?: string;
  /** The error codes that the documentation lists, beside those of all operations of its kind. */
  errors: readonly ErrorCode[];
}

export const takesBody = ({ method }: Pick<RestBinding, 'method'>): boolean =>
  method === 'POST' || method === 'PUT';

export type ToolOperation = Operation & { tool: ToolBinding };

export interface ToolBinding {
  readOnly: boolean;
  idempotent: boolean;
  /** True: it reaches beyond the gateway's own data. */
  openWorld: boolean;
  /**
   * The arguments that most calls need. With them alone the tool is listed to wallets, which have no key, and described to
   * catalogues. Absent: all.
   */
  main?: readonly string[];
  /**
   * What it is in directories of assistants, where nothing is paid but from the balance. Absent: it is there only if it
   * reads.
   */
  inDirectory?: string;
  /** The view of its results for assistants that can show one (MCP Apps). */
  view?: 'leads' | 'job' | 'balance';
  /** Its jobs are tasks to clients that take them. Absent: it makes no jobs. */
  task?: ToolTask;
  /** A sentence for the instructions of the server, which a model reads before its first call. */
  instruction?: string;
}

/** How the jobs of a tool are tasks of MCP. */
export interface ToolTask {
  kind: JobKind;
  /** How often a client should ask for the state. */
  pollMs: number;
  /** How long the result is kept after the job's end; null: without end. */
  keepMs(config: OperationSettings): number | null;
  /** Answers an ended job as the tool does when it has waited for it. Throws AppError likewise. */
  answer(job: Job, call: AccountCall, services: Services): Promise<Answer>;
}

/** The MCP resource that an operation answers. */
export interface ResourceBinding {
  /** The address below `{brand}://`, with input fields in braces. Null: the answer is bytes, at its REST address. */
  path: string | null;
  name: string;
  title: string;
  /** Lists resources of this kind, when the path has fields. */
  list?(call: AccountCall, services: Services): Promise<{ path: string; name: string; title: string }[]>;
}
