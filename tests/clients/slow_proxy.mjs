// A TCP proxy in front of a server that holds its answers back, so that a client's timeout meets a real server.
import { once } from 'node:events';
import net from 'node:net';

export async function startSlowProxy(serverUrl, delayMs) {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set();
  const proxy = net.createServer(client => {
    const server = net.connect(Number(port), hostname);
    client.pipe(server);
    server.on('data', bytes => setTimeout(() => client.writable && client.write(bytes), delayMs));
    for (const [socket, other] of [[client, server], [server, client]]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => { other.destroy(); sockets.delete(socket); });
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const close = () => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
  };
  return { url: `http://127.0.0.1:${proxy.address().port}`, close };
}
