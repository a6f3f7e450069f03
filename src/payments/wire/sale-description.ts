import type { JsonObject } from '../../kit/json.ts';
import type { Nano } from '../../kit/money.ts';

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
  /** One call, such as "search". */
  unit: string;
  /** Where it is sold over HTTP: the path, below the base URL. */
  path: string;
  method: 'GET' | 'POST';
  /** The tool that sells it over MCP; null when there is none. */
  toolName: string | null;
  /** JSON Schema of an object: the query parameters or the body, which are the arguments of the tool too. */
  inputSchema: JsonObject;
  inputExample: JsonObject;
  outputExample: JsonObject;
  /** Names the present price rule. */
  pricing: string;
  /** Whether a payment is balance, from which the call is paid. */
  isCredit: boolean;
  /** Whether a call is free, and its challenge sells balance beside it. Catalogues and the manifest leave it out. */
  isFree?: boolean;
  /** Whether its challenges over HTTP offer to sign in with a wallet. */
  offersSignIn?: boolean;
  /** The prices of one request as they are now; null: none can be bought. */
  price: () => PriceRange | null;
}

/** The prices of the cheapest and the dearest request. `most` is null for a price without an upper bound. */
export interface PriceRange {
  least: Nano;
  most: Nano | null;
}
