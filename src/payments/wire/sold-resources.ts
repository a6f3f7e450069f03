import type { JsonObject, Json } from '../../kit/json.ts';
import { createPathMatcher } from '../../kit/path-matcher.ts';
import type { Nano } from '../../kit/money.ts';
import type { Extension, Extensions, ResourceInfo } from '../chains/core/wire.ts';
import { paymentIdentifier, paymentIdentifierDeclaration } from './extensions.ts';

/**
 * Describes one operation that is sold by x402. Terms, catalogues, the manifest and all documents of the service are made
 * from it. What may change while the gateway runs is a function.
 */
export interface SaleDescription {
  /** Names the operation. */
  name: string;
  /** Names the whole service: printable ASCII, at most 32 characters. */
  serviceName: string;
  /** At most 5, each printable ASCII of at most 32 characters. */
  tags: string[];
  /** One line: what a call does. */
  title: string;
  /** Name the goods, real ones and made-up ones. */
  descriptions: Readonly<Record<'real' | 'sandbox', string>>;
  /** One sentence about made-up goods; null while they are real. */
  notice: () => string | null;
  unit: string;
  /** Where it is sold over HTTP: the path, below the base URL. */
  path: string;
  method: 'GET' | 'POST';
  /** The tool that sells it over MCP; null when there is none. */
  toolName: string | null;
  /** JSON Schemas of an object: the query parameters or the body, and the arguments of the tool. */
  inputSchemas: Readonly<Record<'rest' | 'mcp', JsonObject>>;
  inputExample: JsonObject;
  outputExample: JsonObject;
  pricing: string;
  /** Whether a payment is balance, from which the call is paid. */
  isCredit: boolean;
  /** Whether a call is free, and its challenge sells balance beside it. Catalogues and the manifest leave it out. */
  isFree?: boolean;
  /** Whether its challenges over HTTP offer to sign in with a wallet. */
  offersSignIn?: boolean;
  /** The prices of one request as they are now; null: none can be bought. */
  price: () => PriceRange | null;
  /** The goods that are sold one by one now; null: they are not listed so. */
  items?: () => SoldItem[] | null;
}

/** One of the goods of a sale whose path has parameters. */
export interface SoldItem {
  name: string;
  /** Below the base URL. */
  path: string;
  price: Nano;
  /** A sentence without its end, for people. */
  note: string;
  inputExample: JsonObject;
}

/** The prices of the cheapest and the dearest request. `most` is null for a price without an upper bound. */
export interface PriceRange {
  least: Nano;
  most: Nano | null;
}

/** The key of the catalogues' extension (specs/extensions/bazaar.md). */
export const bazaar = 'bazaar';

/** The specification asks for this dialect by name. */
const dialect = 'https://json-schema.org/draft/2020-12/schema';

/** A member of `input`, its JSON Schema, and whether it may be left out. */
type Member = readonly [name: string, value: Json, schema: JsonObject, isOptional?: 'optional'];

const declare = (members: readonly Member[], outputExample: JsonObject): Extension => ({
  info: {
    input: Object.fromEntries(members.map(([name, value]) => [name, value])),
    output: { type: 'json', example: outputExample },
  },
  schema: {
    $schema: dialect,
    type: 'object',
    properties: {
      input: {
        type: 'object',
        properties: Object.fromEntries(members.map(([name, , schema]) => [name, schema])),
        required: members.flatMap(([name, , , isOptional]) => (isOptional === undefined ? [name] : [])),
        additionalProperties: false,
      },
    },
    required: ['input'],
  },
});

const withoutDetails = (member: Json): Json => {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
  const { description: _description, default: _default, maxLength: _maxLength, ...rest } = member;
  return rest;
};

/** The members with types and numbers alone: a header has little room, and the interface description has the rest. */
const outline = (schema: JsonObject): JsonObject => {
  const { properties } = schema;
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties)) return schema;
  const outlined = Object.entries(properties).map(([name, member]) => [name, withoutDetails(member)]);
  return { ...schema, properties: Object.fromEntries(outlined) };
};

/** Declares how to call a sale over HTTP, for facilitators that catalogue what they settle. */
const declareForHttp = ({
  method,
  inputSchemas,
  inputExample,
  outputExample,
}: SaleDescription): Extension => {
  const schema = outline(inputSchemas.rest);
  const parameters: Member[] =
    method === 'GET'
      ? [['queryParams', inputExample, schema, 'optional']]
      : [
          ['bodyType', 'json', { enum: ['json'] }],
          ['body', inputExample, schema],
        ];
  return declare(
    [['type', 'http', { const: 'http' }], ['method', method, { enum: [method] }], ...parameters],
    outputExample,
  );
};

const text = { type: 'string' };
const object = { type: 'object' };
const transport = 'streamable-http';

const declareForMcp = (sale: SaleDescription & { toolName: string }): Extension =>
  declare(
    [
      ['type', 'mcp', { const: 'mcp' }],
      ['toolName', sale.toolName, text],
      ['description', sale.title, text, 'optional'],
      ['transport', transport, { enum: [transport] }, 'optional'],
      ['inputSchema', sale.inputSchemas.mcp, object],
      ['example', sale.inputExample, object, 'optional'],
    ],
    sale.outputExample,
  );

/**
 * Returns what every challenge for a sale declares over HTTP and over MCP. A facilitator is told the same, in place of
 * what the buyer sent: nobody else writes what is catalogued of this service.
 */
export const declareExtensions = (sale: SaleDescription): Readonly<Record<'rest' | 'mcp', Extensions>> => {
  const common: Extensions = { [paymentIdentifier]: paymentIdentifierDeclaration };
  if (sale.isFree === true) return { rest: common, mcp: common };
  const { toolName } = sale;
  return {
    rest: { ...common, [bazaar]: declareForHttp(sale) },
    mcp: toolName === null ? common : { ...common, [bazaar]: declareForMcp({ ...sale, toolName }) },
  };
};

export interface SoldOver {
  /** Names the operation. */
  sale: string;
  transport: 'rest' | 'mcp';
  /** Whether the goods are made up, which their description says. Absent: they are not. */
  isSandbox?: boolean;
  /** Where this call is made, below the base URL. Absent: where all calls of the sale are. */
  path?: string | undefined;
}

interface SoldResource {
  resource: ResourceInfo;
  extensions: Extensions;
  offersSignIn: boolean;
}

export type SoldResources = ReturnType<typeof createSoldResources>;

/** Describes all that is sold, once for each public URL. It is known when the gateway listens. */
export const createSoldResources = (sales: readonly SaleDescription[], publicUrl: () => string) => {
  let made: ReturnType<typeof indexResources> | null = null;
  const index = () => {
    const url = publicUrl();
    if (made?.publicUrl !== url) made = indexResources(sales, url);
    return made;
  };
  return {
    /** Returns a resource with what its challenges declare. Throws Error for what is not sold. */
    find: (over: SoldOver): SoldResource => {
      const url = publicUrl();
      const found = index().bySale.get(keyOf(over));
      if (found === undefined) throw new Error(`${over.sale} is not sold by x402`);
      return over.path === undefined
        ? found
        : { ...found, resource: { ...found.resource, url: url + over.path } };
    },
    /** Returns what is declared of a stored resource; null when it is not sold here. */
    declaredFor: ({ url, description }: Pick<ResourceInfo, 'url' | 'description'>): Extensions | null => {
      const { byResource, templates } = index();
      // The tools share one address; the stored description tells them apart.
      const known = byResource.get(`${url}\n${description}`) ?? byResource.get(url);
      return (
        known ?? templates.find(({ match }) => match(url.slice(publicUrl().length)) !== null)?.rest ?? null
      );
    },
  };
};

const keyOf = ({ sale, transport, isSandbox = false }: SoldOver): string =>
  `${sale} ${transport} ${isSandbox}`;

const indexResources = (sales: readonly SaleDescription[], publicUrl: string) => {
  const bySale = new Map<string, SoldResource>();
  const byResource = new Map<string, Extensions>();
  for (const sale of sales) {
    const { name, path, serviceName, tags, descriptions } = sale;
    const declared = declareExtensions(sale);
    for (const transport of ['rest', 'mcp'] as const)
      for (const isSandbox of [false, true]) {
        // Catalogues tell the tools of one MCP server apart by name.
        const url = `${publicUrl}${transport === 'rest' ? path : '/mcp'}`;
        const description = isSandbox ? descriptions.sandbox : descriptions.real;
        const extensions = declared[transport];
        bySale.set(keyOf({ sale: name, transport, isSandbox }), {
          resource: { url, description, mimeType: 'application/json', serviceName, tags },
          extensions,
          // Over MCP a tool of its own has the challenge.
          offersSignIn: sale.offersSignIn === true && transport === 'rest',
        });
        for (const key of [url, `${url}\n${description}`])
          if (!byResource.has(key)) byResource.set(key, extensions);
      }
  }
  const templates = sales
    .filter(({ path }) => path.includes('{'))
    .map((sale) => ({ match: createPathMatcher(sale.path), rest: declareExtensions(sale).rest }));
  return { publicUrl, bySale, byResource, templates };
};
