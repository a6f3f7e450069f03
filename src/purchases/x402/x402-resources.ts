import { declareExtensions } from '../../payments/extensions/declared-extensions.ts';
import type { SaleDescription } from '../../payments/extensions/sale-description.ts';
import type { Extensions, ResourceInfo } from '../../payments/core/wire.ts';

/** One sale over one transport. */
export interface SoldOver {
  /** Names the operation. */
  sale: string;
  transport: 'rest' | 'mcp';
}

export type SoldResources = ReturnType<typeof createSoldResources>;

export const createSoldResources = (sales: readonly SaleDescription[], publicUrl: () => string) => {
  const sold = sales.flatMap((sale) => {
    const declared = declareExtensions(sale);
    const { name, path, serviceName, tags } = sale;
    return (['rest', 'mcp'] as const).map((transport) => ({
      name,
      transport,
      extensions: declared[transport],
      // A key must not pass through a model.
      offersSignIn: sale.offersSignIn === true && transport === 'rest',
      describe: (): ResourceInfo => ({
        // Catalogues tell the tools of one MCP server apart by name.
        url: `${publicUrl()}${transport === 'rest' ? path : '/mcp'}`,
        description: sale.description(),
        mimeType: 'application/json',
        serviceName,
        tags,
      }),
    }));
  });
  return {
    /** Describes a resource as it is now, with what its challenges declare. Throws Error for what is not sold. */
    find: ({
      sale,
      transport,
    }: SoldOver): { resource: ResourceInfo; extensions: Extensions; offersSignIn: boolean } => {
      const found = sold.find((one) => one.name === sale && one.transport === transport);
      if (found === undefined) throw new Error(`${sale} is not sold by x402`);
      const { extensions, offersSignIn } = found;
      return { resource: found.describe(), extensions, offersSignIn };
    },
    /** Returns what is declared of a stored resource; null when it is not sold here. */
    declaredFor: ({ url, description }: ResourceInfo): Extensions | null => {
      const there = sold
        .map(({ describe, extensions }) => ({ resource: describe(), extensions }))
        .filter(({ resource }) => resource.url === url);
      // The tools share one address; the stored description tells them apart.
      const same = there.find(({ resource }) => resource.description === description);
      return (same ?? there[0])?.extensions ?? null;
    },
  };
};
