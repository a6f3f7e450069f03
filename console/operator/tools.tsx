import { useState } from 'preact/hooks';
import { money } from '../format.ts';
import { Action } from '../parts/confirm.tsx';
import { Shown, State, Title } from '../parts/parts.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Link } from '../router.tsx';
import { useConsole, useLoad } from '../use-console.ts';

interface Tool {
  server: string;
  tool: string;
  state: string;
  price_usd: string;
  unit: string;
  pin: string | null;
  problem: string | null;
}

interface Difference {
  tool: Tool;
  changes: { member: string; accepted: unknown; now: unknown }[];
}

const columns: Column<Tool>[] = [
  {
    title: 'Server',
    cell: ({ server }) => <Link path={`operator/tools/${encodeURIComponent(server)}`}>{server}</Link>,
  },
  { title: 'Tool', cell: ({ tool }) => tool },
  { title: 'State', cell: ({ state }) => <State name={state} /> },
  { title: 'Problem', cell: ({ problem }) => problem ?? '', isWide: true },
  { title: 'Price', cell: ({ price_usd: usd, unit }) => `${money(usd)} a ${unit}`, isNumber: true },
];

/** The tools of mounted MCP servers. */
export const Tools = () => (
  <>
    <Title aside={<Link path="operator/revenue">Their income</Link>}>Mounted tools</Title>
    <Shown loaded={useLoad<{ tools: Tool[] }>('admin/v1/tools', { everyMs: 15_000 })}>
      {({ tools }) => (
        <Table
          name="Mounted tools"
          rows={tools}
          columns={columns}
          keyOf={({ server, tool }) => `${server} ${tool}`}
          none="No tool of another MCP server is mounted."
        />
      )}
    </Shown>
  </>
);

/** Texts of a server are shown as they are, never as markup. */
const written = (value: unknown) =>
  value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

const Changed = ({ tool, changes, onDone }: Difference & { onDone(): void }) => {
  const { api, session } = useConsole();
  const { server, tool: name, state, pin } = tool;
  const accept = () => api.open('admin/v1/tools/accept', { body: { server, tool: name, pin } }).then(onDone);
  return (
    <section>
      <h2>
        {name} <State name={state} />
      </h2>
      <Table
        name={`Changes of ${name}`}
        rows={changes}
        columns={[
          { title: 'Member', cell: ({ member }) => member },
          { title: 'Accepted', cell: ({ accepted }) => <code>{written(accepted)}</code> },
          { title: 'Now', cell: ({ now }) => <code>{written(now)}</code> },
        ]}
        keyOf={({ member }) => member}
        none="Nothing has changed."
      />
      {session.operator === 'write' && (
        <p>
          <Action
            label="Accept"
            name={`Accept ${name}`}
            question={`Accept the tool ${name} of ${server} as it is shown here? Callers see it and can call it from now on, for ${money(tool.price_usd)} a ${tool.unit}.`}
            yes={`Accept ${name}`}
            act={accept}
          />
        </p>
      )}
    </section>
  );
};

/** What is new, or has changed, of the tools of a server. */
export const ServerTools = ({ id }: { id: string }) => {
  const [turn, setTurn] = useState(0);
  const path = `admin/v1/tools/diff?server=${encodeURIComponent(id)}`;
  return (
    <>
      <Title aside={<Link path="operator/tools">All tools</Link>}>Tools of {id}</Title>
      <Shown loaded={useLoad<{ tools: Difference[] }>(path, { version: turn })}>
        {({ tools }) =>
          tools.length === 0 ? (
            <p class="none">Every tool is as it was accepted, or refused.</p>
          ) : (
            tools.map((difference) => (
              <Changed key={difference.tool.tool} {...difference} onDone={() => setTurn(turn + 1)} />
            ))
          )
        }
      </Shown>
    </>
  );
};
