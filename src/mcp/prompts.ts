import {
  ProtocolError,
  ProtocolErrorCode,
  type CompleteRequestParams,
  type CompleteResult,
  type GetPromptRequestParams,
  type GetPromptResult,
  type ListPromptsResult,
} from '@modelcontextprotocol/server';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import { isCountryCode } from '../leads/query/country-names.ts';
import type { Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { unknownWallet } from '../operations/per-call-sale.ts';
import { isIn, needsKey, type McpIdentity } from './tool-list.ts';

interface Prompt {
  name: string;
  title: string;
  description: string;
  /** The tool that it is about. Where that is not offered, the prompt is not, either. */
  tool: string;
  arguments: { name: string; description: string; required?: true }[];
  write(given: Record<string, string>): string;
}

/** Writes the arguments that have a value. */
const besides = (given: Record<string, string>, names: readonly string[]): string =>
  names.flatMap((name) => (given[name] ? [`, ${name} ${given[name]}`] : [])).join('');

const model = { name: 'model', description: 'A SKU; the default one without it.' };

const prompts: readonly Prompt[] = [
  {
    name: 'find_creators',
    title: 'Find creators',
    description: 'Finds influencers for a brand or a subject.',
    tool: 'search_leads',
    arguments: [
      { name: 'subject', description: 'What they post about.', required: true },
      { name: 'country', description: 'A country code, such as US.' },
      { name: 'category', description: 'A category of profiles.' },
    ],
    write: (given) =>
      `Find influencers with search_leads: ${given['subject']}${besides(given, ['country', 'category'])}. ` +
      'Compare the best five in a table, with followers and why each fits.',
  },
  {
    name: 'make_picture',
    title: 'Make a picture',
    description: 'Makes a picture from a description.',
    tool: 'create_image',
    arguments: [{ name: 'picture', description: 'What it shows.', required: true }, model],
    write: (given) => `Make a picture with create_image: ${given['picture']}${besides(given, ['model'])}.`,
  },
  {
    name: 'make_film',
    title: 'Make a film',
    description: 'Makes a short film from a description.',
    tool: 'create_video',
    arguments: [{ name: 'film', description: 'What happens in it.', required: true }, model],
    write: (given) =>
      `Make a film with create_video: ${given['film']}${besides(given, ['model'])}. ` +
      'Tell its price before, and its address when get_video has it.',
  },
  {
    name: 'show_spending',
    title: 'What did I spend?',
    description: 'Tells the balance, and what was spent on which models.',
    tool: 'get_usage',
    arguments: [],
    write: () => 'What did I spend? Use get_usage and get_balance, and sum it up by model in a table.',
  },
];

/** The most values that one completion may have by the protocol. */
const maxValues = 100;

/** Makes the prompts for usual jobs, and completes their arguments and those of resource templates. */
export const createPrompts = (services: Services, offered: () => readonly Operation[]) => {
  const offeredTo = ({ group, hasKey }: McpIdentity): Prompt[] => {
    const tools = offered().filter((one) => isIn(group, one) && (hasKey || !needsKey(one)));
    return prompts.filter(({ tool }) => tools.some(({ name }) => name === tool));
  };

  const modelsOf = async (identity: McpIdentity, kind?: ModelConfig['kind']): Promise<string[]> => {
    const caller = await identity.caller();
    await services.catalogs.refresh();
    const models = services.catalogs.for(caller ?? unknownWallet(services)).list();
    return models.filter((one) => kind === undefined || one.kind === kind).map(({ sku }) => sku);
  };

  const valuesOf = async (
    { ref, argument }: CompleteRequestParams,
    identity: McpIdentity,
  ): Promise<string[]> => {
    const { facets } = services.leads.status();
    if (ref.type === 'ref/resource')
      return identity.hasKey && ref.uri.endsWith('models/{model}') ? modelsOf(identity) : [];
    const prompt = offeredTo(identity).find(({ name }) => name === ref.name);
    if (prompt === undefined) throw unknown(ref.name);
    if (!prompt.arguments.some(({ name }) => name === argument.name)) return [];
    const codes = (facets?.countries ?? []).map(({ value }) => value).filter(isCountryCode);
    if (argument.name === 'country') return codes;
    if (argument.name === 'category') return (facets?.categories ?? []).map(({ value }) => value);
    const sells = offered().find(({ name }) => name === prompt.tool)?.sells;
    return argument.name === 'model' ? modelsOf(identity, sells) : [];
  };

  return {
    list: (identity: McpIdentity): ListPromptsResult => ({
      prompts: offeredTo(identity).map(({ tool: _tool, write: _write, ...prompt }) => prompt),
    }),
    /** Throws ProtocolError for an unknown prompt or a missing argument. */
    get: (
      { name, arguments: given = {} }: GetPromptRequestParams,
      identity: McpIdentity,
    ): GetPromptResult => {
      const prompt = offeredTo(identity).find((one) => one.name === name);
      if (prompt === undefined) throw unknown(name);
      const missing = prompt.arguments.find(({ name: one, required }) => required && !given[one]?.trim());
      if (missing !== undefined)
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `${missing.name}: is missing. ${missing.description}`,
        );
      return {
        description: prompt.description,
        messages: [{ role: 'user', content: { type: 'text', text: prompt.write(given) } }],
      };
    },
    /** Returns the values that begin with what was typed. Throws ProtocolError for an unknown prompt. */
    complete: async (params: CompleteRequestParams, identity: McpIdentity): Promise<CompleteResult> => {
      const start = params.argument.value.toLowerCase();
      const found = (await valuesOf(params, identity)).filter((value) =>
        value.toLowerCase().startsWith(start),
      );
      return {
        completion: {
          values: found.slice(0, maxValues),
          total: found.length,
          hasMore: found.length > maxValues,
        },
      };
    },
  };
};

const unknown = (name: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name.slice(0, 128)}`);
