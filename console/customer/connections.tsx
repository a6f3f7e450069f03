import { useState } from 'preact/hooks';
import { money } from '../format.ts';
import { Action } from '../parts/confirm.tsx';
import { Moment, State, Title } from '../parts/parts.tsx';
import { CustomerTable } from '../parts/table.tsx';
import { useConsole } from '../use-console.ts';

interface Connection {
  id: string;
  client: string;
  client_name: string;
  scopes: string[];
  created_at: string;
  revoked_at: string | null;
  budget_day_usd: string | null;
  budget_total_usd: string | null;
  total_spent_usd: string | null;
}

/** The host of the assistant, which was checked, and what it calls itself, which was not. */
const nameOf = ({ client, client_name: name }: Connection): string =>
  name === client ? `a program that calls itself ${name}` : `${client} (${name})`;

export const Connections = () => {
  const { api } = useConsole();
  const [turn, setTurn] = useState(0);
  const end = async ({ id }: Connection): Promise<void> => {
    await api.open(`v1/connections/${id}`, { method: 'DELETE' });
    setTurn((last) => last + 1);
  };
  return (
    <>
      <Title>Connections</Title>
      <p class="soft">Assistants that may spend from this account.</p>
      <CustomerTable<Connection>
        name="Connections"
        path="v1/connections"
        version={turn}
        columns={[
          { title: 'Assistant', cell: nameOf },
          { title: 'State', cell: (one) => <State name={one.revoked_at === null ? 'active' : 'ended'} /> },
          { title: 'Allowed', cell: ({ scopes }) => scopes.join(', '), isWide: true },
          { title: 'Since', cell: ({ created_at: at }) => <Moment at={at} />, isWide: true },
          { title: 'A day', cell: ({ budget_day_usd: most }) => money(most), isNumber: true, isWide: true },
          {
            title: 'In all',
            cell: ({ budget_total_usd: most }) => money(most),
            isNumber: true,
            isWide: true,
          },
          { title: 'Spent', cell: ({ total_spent_usd: spent }) => money(spent), isNumber: true },
          {
            title: 'End',
            cell: (one) =>
              one.revoked_at === null && (
                <Action
                  label="End"
                  name={`End ${nameOf(one)}`}
                  question={`End the connection of ${nameOf(one)}? It cannot call any more; jobs that it began go on.`}
                  yes="End the connection"
                  act={() => end(one)}
                />
              ),
          },
        ]}
        keyOf={({ id }) => id}
        none="No assistant is connected."
      />
    </>
  );
};
