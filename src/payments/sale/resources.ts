import { declareExtensions } from '../wire/declared-extensions.ts';
import type { SaleDescription } from '../wire/sale-description.ts';
import type { Extensions, ResourceInfo } from '../chains/core/wire.ts';

/** One sale over one transport. */
export interface SoldOver {
  /** Names the operation. */
  sale: string;
  transport: 'rest' | 'mcp';
  /** Whether the goods are made up, which their description says. Absent: they are not. */
  isSandbox?: boolean;
}

interface SoldResource {
  resource: ResourceInfo;
  /** The declarations of its challenges. */
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
      const found = index().bySale.get(keyOf(over));
      if (found === undefined) throw new Error(`${over.sale} is not sold by x402`);
      return found;
    },
    /** Returns what is declared of a stored resource; null when it is not sold here. */
    declaredFor: ({ url, description }: Pick<ResourceInfo, 'url' | 'description'>): Extensions | null => {
      const { byResource } = index();
      // The tools share one address; the stored description tells them apart.
      return byResource.get(`${url}\n${description}`) ?? byResource.get(url) ?? null;
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
          // A key must not pass through a model.
          offersSignIn: sale.offersSignIn === true && transport === 'rest',
        });
        for (const key of [url, `${url}\n${description}`])
          if (!byResource.has(key)) byResource.set(key, extensions);
      }
  }
  return { publicUrl, bySale, byResource };
};
